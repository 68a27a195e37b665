#!/usr/bin/python3
"""Regenerates the golden values: loss and gradients of each model by PyTorch in float64."""
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

import formula
import optimizers
from network import Network, pad, pool_geometry

HERE = pathlib.Path(__file__).resolve().parent
ZOO = HERE.parent.parent / "src" / "model" / "zoo"
MARGIN = 1e-6  # a few roundings of fp32 around values of order one
TOLERANCE = 2e-5  # PyTorch's own float32 against its float64; the engines are allowed 1e-4


def batch_of(name):
    return 5 if name.startswith("rgb128") else 12  # neither is a multiple of a SIMD width


class Margins:
    """The least distance of any ReLU and any max-pool from switching, where fp32 rounding would
    move a whole gradient contribution and prove nothing about the engine."""

    def __init__(self):
        self.least = np.inf

    def __call__(self, _name, kind, detail, x):
        if kind == "relu":
            if detail and detail[1] == "MaxPooling2D":  # only the winners of a window pass
                x = self._windows(x, detail[2])[..., 0]
            self.least = min(self.least, x.abs().min().item())
        elif kind == "MaxPooling2D":
            best = self._windows(x, detail)
            gaps = (best[..., 0] - best[..., 1])[best[..., 0] != 0]  # all-zero after ReLU: no gradient
            self.least = min(self.least, gaps.min().item())

    @staticmethod
    def _windows(x, config):
        size, strides, padding = pool_geometry(config)
        x = pad(x, padding, size, strides, -1e30)
        windows = x.unfold(2, size[0], strides[0]).unfold(3, size[1], strides[1]).flatten(4)
        return windows.topk(2, dim=4).values


class Statistics:
    """Mean and biased variance that each batch normalisation sees."""

    def __init__(self):
        self.layers = []

    def __call__(self, name, kind, _detail, x):
        if kind == "BatchNormalization":
            axes = (0, *range(2, x.dim()))
            self.layers.append({
                "layer": name,
                "mean": [formula.nine_digits(v) for v in x.mean(axes)],
                "variance": [formula.nine_digits(v) for v in x.var(axes, unbiased=False)],
            })


def loss_of(network, output, batch):
    if network.softmax:
        expected = torch.from_numpy(formula.labels(batch, network.outputs))
        return F.cross_entropy(output, expected), int((output.argmax(1) == expected).sum())
    expected = torch.from_numpy(formula.targets((batch, network.outputs))).to(output.dtype)
    return F.mse_loss(output, expected), None


def gradients(network, inputs, dtype):
    leaves = {p.name: torch.from_numpy(p.keras).to(dtype).requires_grad_() for p in network.parameters}
    x = torch.from_numpy(inputs).to(dtype)
    loss, correct = loss_of(network, network.forward(x, lambda name, _: leaves[name]), len(inputs))
    loss = loss + network.penalty
    loss.backward()
    return loss.item(), correct, {name: leaf.grad.double().numpy() for name, leaf in leaves.items()}


def inputs_with_margin(network, batch):
    """The first tensor number (0, 2000, 2001, …) whose inputs are not close to any switch."""
    weights = {p.name: torch.from_numpy(p.keras) for p in network.parameters}
    for tensor in [formula.INPUTS, *range(2000, 2100)]:
        inputs = formula.inputs((batch, *network.input_shape), tensor)
        margins = Margins()
        with torch.no_grad():
            network.forward(torch.from_numpy(inputs), lambda name, _: weights[name], margins)
        if margins.least > MARGIN:
            return tensor, inputs
    raise SystemExit("no inputs keep clear of the switching points of ReLU and pooling")


def golden(path):
    network, batch = Network(path), batch_of(path.stem)
    tensor, inputs = inputs_with_margin(network, batch)
    loss, correct, exact = gradients(network, inputs, torch.float64)
    rough = gradients(network, inputs, torch.float32)[2]
    worst = max(np.abs(rough[n] - g).max() / np.abs(g).max() for n, g in exact.items())
    print(f"{path.stem:16} batch {batch:2}  loss {loss:.9f}  correct {correct}  inputs {tensor}  "
          f"float32 is within {worst:.1e}")
    if worst > TOLERANCE:
        raise SystemExit(f"{path.stem}: too sensitive to rounding to be a golden value")
    statistics = Statistics()
    weights = {p.name: torch.from_numpy(p.keras) for p in network.parameters}
    with torch.no_grad():
        network.forward(torch.from_numpy(inputs), lambda name, _: weights[name], statistics)
    return {
        "model": path.stem,
        "batch": batch,
        "inputs_tensor": tensor,
        "loss_kind": "sparse_categorical_crossentropy" if network.softmax else "mean_squared_error",
        "loss": loss,
        "correct": correct,
        "batch_statistics": statistics.layers,
        "parameters": [
            {"name": p.name, "tensor": p.tensor, "shape": list(p.shape), "offset": p.offset,
             "scale": p.scale, "gradient": formula.summary(exact[p.name])}
            for p in network.parameters
        ],
    }


def write(name, value):
    (HERE / f"{name}.json").write_text(json.dumps(value, separators=(",", ":")) + "\n")


def main():
    torch.set_num_threads(1)  # one summation order, so that the files are the same on every machine
    asked = set(sys.argv[1:])
    for path in [*sorted(ZOO.glob("*.json")), *sorted((HERE / "models").glob("*.json"))]:
        if not asked or path.stem in asked:
            write(path.stem, golden(path))
    if not asked or "optimizers" in asked:
        write("optimizers", optimizers.trajectories(HERE / "models" / "tiny-mlp.json"))


if __name__ == "__main__":
    main()
