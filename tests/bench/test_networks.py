#!/usr/bin/python3
"""The benchmarks' networks: they mean the same to sweetspot, PyTorch and JAX.

    tests/bench/test_networks.py SWEETSPOT [--all]

SWEETSPOT is the program. What needs PyTorch or JAX is left out where they are not installed; PyTorch
is held to the golden maker, which is held to the engines, and JAX to PyTorch. --all takes every
network of bench/networks and more random ones, which is minutes instead of seconds.
"""
import importlib.util
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "golden")]

import keras_network
import random_network

SWEETSPOT = sys.argv.pop(1) if len(sys.argv) > 1 else str(ROOT / "build" / "release" / "sweetspot")
ALL = "--all" in sys.argv and not sys.argv.remove("--all")
NETWORKS = sorted((ROOT / "bench" / "networks").glob("*.json"))
GOLDEN = [*sorted((ROOT / "tests" / "golden" / "models").glob("*.json")), *sorted(keras_network.ZOO.glob("*.json"))]
BATCH = 3
STEADY_BATCH = 16  # in float32 many normalisations of few samples amplify rounding


def has(module):
    return importlib.util.find_spec(module) is not None


def quick(path):
    try:
        return ALL or keras_network.read(path).multiply_adds() < 5e6
    except keras_network.Unsupported:
        return True  # and the test says why it is skipped


class Random:
    """Random networks as files, which both sides read."""

    def __init__(self, layers, count):
        self.folder = tempfile.TemporaryDirectory()
        self.paths = []
        for index in range(count):
            self.paths.append(pathlib.Path(self.folder.name) / f"{layers}-{index}.json")
            self.paths[-1].write_text(json.dumps(random_network.generate(3, index, layers)))

    def __enter__(self):
        return self.paths

    def __exit__(self, *_):
        self.folder.cleanup()


class Shapes(unittest.TestCase):
    def parameters_agree(self, path):
        network = keras_network.read(path)
        shown = subprocess.run([SWEETSPOT, "model", "show", str(path), "--json"], capture_output=True, text=True)
        if shown.returncode == 2:  # a layer that the engines do not support yet
            self.skipTest(shown.stderr)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        layers = {}  # those under one name are one of Keras' layers
        for layer in json.loads(shown.stdout)["layers"]:
            before = layers.get(layer["name"], (None, 0))[1]
            layers[layer["name"]] = tuple(layer["output_shape"]), before + layer["parameters"]
        self.assertEqual(list(layers.items()),
                         [(l.name, (l.output, sum(map(math.prod, l.weights.values())))) for l in network.layers])

    def test_suite_has_the_shapes_and_parameters_that_sweetspot_shows(self):
        for path in NETWORKS:
            with self.subTest(path.stem):
                self.parameters_agree(path)

    def test_random_networks_have_the_shapes_and_parameters_that_sweetspot_shows(self):
        for layers in ("core", "all"):
            with Random(layers, 25) as paths:
                for path in paths:
                    with self.subTest(path.stem):
                        self.parameters_agree(path)

    def test_a_seed_gives_the_same_networks_and_another_gives_others(self):
        self.assertEqual(random_network.generate(5, 2), random_network.generate(5, 2))
        self.assertNotEqual(random_network.generate(5, 2), random_network.generate(6, 2))
        self.assertNotEqual(random_network.generate(5, 2), random_network.generate(5, 3))

    def test_random_networks_hold_every_kind_of_layer(self):
        kinds = {layer["class_name"] for index in range(150)
                 for layer in random_network.generate(1, index)["config"]["layers"]}
        for kind in ("Conv2D", "DepthwiseConv2D", "SeparableConv2D", "Conv1D", "MaxPooling2D", "AveragePooling2D",
                     "GlobalAveragePooling2D", "GlobalMaxPooling2D", "BatchNormalization", "LeakyReLU", "Dropout",
                     "ZeroPadding2D", "Flatten", "Dense"):
            self.assertIn(kind, kinds)


DEFAULTS = {"Conv2D": {"padding": "valid"}, "BatchNormalization": {"epsilon": 1e-3},
            "MaxPooling2D": {"strides": None}, "AveragePooling2D": {"strides": None}}


def without_chance(model):
    """The same network without randomness, with the defaults that the golden generator needs spelled out, and without
    penalties, which the peers' steps do not have."""
    for layer in model["config"]["layers"]:
        for key in [key for key in layer["config"] if key.endswith("_regularizer")]:
            del layer["config"][key]
        layer["config"] = DEFAULTS.get(layer["class_name"], {}) | layer["config"]
        if "rate" in layer["config"]:
            layer["config"]["rate"] = 0.0
        if layer["class_name"] == "GaussianNoise":
            layer["config"]["stddev"] = 0.0
    return model


@unittest.skipUnless(has("torch"), "PyTorch is not installed")
class PyTorch(unittest.TestCase):
    """The module against the golden generator's function, in float64 from the same weights."""

    def agree(self, path):
        import torch

        import formula
        import make
        import network as golden
        import torch_network
        # Rewritten without dropout, which the golden generator ignores.
        with tempfile.NamedTemporaryFile("w", suffix=".json") as still:
            json.dump(without_chance(json.loads(path.read_text())), still)
            still.flush()
            try:
                theirs = golden.Network(pathlib.Path(still.name))
                ours = keras_network.read(still.name)
                built = torch_network.build(ours)
            except (SystemExit, keras_network.Unsupported) as why:
                self.skipTest(str(why))
        inputs = formula.inputs((BATCH, *ours.input))
        loss, _, gradients = make.gradients(theirs, inputs, torch.float64)
        weights = {}
        for p in theirs.parameters:
            layer, part = p.name.split("/")
            weights.setdefault(layer, {})[part] = p.keras
        model = torch_network.assign(built.double().train(), ours, weights)
        x = torch.from_numpy(inputs)
        outputs = model(x.movedim(-1, 1) if x.dim() > 2 else x)
        expected = (torch.from_numpy(formula.labels(BATCH, theirs.outputs)) if ours.softmax
                    else torch.from_numpy(formula.targets((BATCH, theirs.outputs))))
        found = torch_network.loss_of(ours)(outputs, expected)
        found.backward()
        self.assertAlmostEqual(found.item(), loss, delta=1e-9 * max(1, abs(loss)))
        # Norms of the gradients, which do not depend on the order of axes.
        lengths = sorted(p.grad.norm().item() for p in model.parameters() if p.requires_grad)
        wanted = sorted(float((g ** 2).sum() ** 0.5) for g in gradients.values())
        self.assertEqual(len(lengths), len(wanted))
        for one, other in zip(lengths, wanted):
            self.assertAlmostEqual(one, other, delta=1e-7 * max(1e-3, other))

    def test_golden_models(self):
        for path in filter(quick, GOLDEN):
            with self.subTest(path.stem):
                self.agree(path)

    def test_networks_of_the_suite(self):
        for path in filter(quick, NETWORKS):
            with self.subTest(path.stem):
                self.agree(path)

    def test_random_networks(self):
        with Random("core", 60 if ALL else 12) as paths:
            for path in filter(quick, paths):
                with self.subTest(path.stem):
                    self.agree(path)


@unittest.skipUnless(has("torch") and has("jax"), "PyTorch and JAX are not both installed")
class Jax(unittest.TestCase):
    """JAX against the module, in float32 from the same weights."""

    def agree(self, path):
        import jax
        import numpy as np
        import torch

        import jax_network
        import torch_network
        network = keras_network.from_json(without_chance(json.loads(path.read_text())))
        trained, statistics = jax_network.initial(network, jax.random.key(5))
        random = np.random.default_rng(5)
        x = random.random((STEADY_BATCH, *network.input), np.float32)
        y = (random.integers(0, network.output[-1], STEADY_BATCH) if network.softmax
             else random.random((STEADY_BATCH, *network.output), np.float32))

        def loss_of(weights):
            outputs, _ = jax_network.apply(network, weights, statistics, jax.numpy.asarray(x), None, drop=False)
            return jax_network.loss(network, outputs, jax.numpy.asarray(y))
        with jax.default_device(jax.devices("cpu")[0]):
            loss, gradients = jax.value_and_grad(loss_of)(trained)
        model = torch_network.build(network).train()
        torch_network.assign(model, network, jax.tree_util.tree_map(np.array, trained))
        inputs = torch.from_numpy(x)
        found = torch_network.loss_of(network)(model(inputs.movedim(-1, 1) if inputs.dim() > 2 else inputs),
                                               torch.from_numpy(np.asarray(y)))
        found.backward()
        self.assertAlmostEqual(found.item(), float(loss), delta=1e-3 * max(1, abs(float(loss))))
        lengths = sorted(p.grad.norm().item() for p in model.parameters() if p.requires_grad)
        wanted = sorted(float(np.linalg.norm(g)) for g in jax.tree_util.tree_leaves(gradients))
        self.assertEqual(len(lengths), len(wanted))
        for one, other in zip(lengths, wanted):  # a bias before a normalisation has only rounding as its gradient
            self.assertAlmostEqual(one, other, delta=5e-2 * max(other, 0.05 * wanted[-1]))

    def test_networks_of_the_suite(self):
        for path in filter(quick, NETWORKS):
            with self.subTest(path.stem):
                self.agree(path)

    def test_random_networks(self):
        with Random("all", 60 if ALL else 12) as paths:
            for path in filter(quick, paths):
                with self.subTest(path.stem):
                    self.agree(path)


if __name__ == "__main__":
    unittest.main()
