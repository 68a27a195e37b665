#!/usr/bin/python3 -B
"""Random Sequential networks as Keras JSON: the same for the same seed, on every machine.

    bench/random_network.py SEED [INDEX] [--layers core|all]    # prints one

Images, sequences and vectors of odd and even sizes; arbitrary channel counts; kernels that are not
square, strides, both paddings; activations inside layers and after them; normalisation, dropout and
pooling in common and uncommon orders. `core` has the layers of the first engine version, `all` also
the later ones.
"""
import argparse
import json
import random

import keras_network

# Per sample, so that batch 1024 takes seconds on two cores, not minutes, and fits into memory.
MOST_MULTIPLY_ADDS = 30e6
MOST_PARAMETERS = 4e6
MOST_ACTIVATIONS = 4e5

ACTIVATIONS = {"core": ["relu"] * 4 + ["tanh", "sigmoid"],
               "all": ["relu"] * 5 + ["tanh", "sigmoid", "elu", "selu", "gelu", "swish", "softplus"]}


class Writer:
    def __init__(self, seed, index, layers):
        self.random = random.Random(f"sweetspot {layers} {seed} {index}")  # seeding from a string is the same everywhere
        self.all = layers == "all"
        self.activations = ACTIVATIONS[layers]
        self.layers, self.counts = [], {}

    def add(self, kind, **config):
        number = self.counts[kind] = self.counts.get(kind, 0) + 1
        self.layers.append({"class_name": kind, "config": {"name": f"{kind.lower()}_{number}", **config}})

    def chance(self, share):
        return self.random.random() < share

    def pick(self, *choices):
        return self.random.choice(choices)

    def size(self, low, high):
        """Integers, small ones as likely as large ones; powers of two as often as any other."""
        value = round(low * (high / low) ** self.random.random())
        return min(high, 1 << round(value - 1).bit_length()) if self.chance(0.4) else max(low, value)

    def activate(self, **config):
        """A layer's own activation, a separate layer after it, or none."""
        function = self.random.choice(self.activations)
        return config | {"activation": function} if self.chance(0.5) else config

    def behind(self, used, images):
        """What usually follows a layer with weights, in varying order."""
        tail = []
        if self.chance(0.4):
            tail.append(("BatchNormalization", {}))
        elif self.all and self.chance(0.05):
            tail.append(("LayerNormalization", {}))
        if not used:
            tail.append(self.activation_layer())
        if self.chance(0.15):
            tail.reverse()
        for kind, config in tail:
            self.add(kind, **config)
        if self.chance(0.25):
            kind = "SpatialDropout2D" if self.all and images and self.chance(0.15) else "Dropout"
            self.add(kind, rate=self.pick(0.1, 0.2, 0.25, 0.5))

    def activation_layer(self):
        if self.all and self.chance(0.2):
            return "LeakyReLU", {"negative_slope": self.pick(0.01, 0.1, 0.2, 0.3)}
        if self.chance(0.3):
            return "ReLU", {}
        return "Activation", {"activation": self.random.choice(self.activations)}

    def kernel(self, shape):
        side = self.pick(1, 2, 3, 3, 3, 3, 4, 5, 7)
        other = side if self.chance(0.8) else self.pick(1, 2, 3, 5)
        return [min(side, shape[0]), min(other, shape[1])]

    def strides(self):
        if self.chance(0.75):
            return [1, 1]
        return self.pick([2, 2], [2, 2], [2, 2], [3, 3], [2, 1], [1, 2])

    def image_layer(self, shape):
        size, strides = self.kernel(shape), self.strides()
        common = {"kernel_size": size, "strides": strides, "padding": self.pick("same", "valid")}
        if self.chance(0.2):
            common["use_bias"] = False
        if self.all and self.chance(0.25):
            common["strides"] = [strides[0]] * 2
            if self.chance(0.5):
                self.add("DepthwiseConv2D", **common, **({"depth_multiplier": 2} if self.chance(0.2) else {}))
                self.behind(False, True)
                return
            config = self.activate(filters=self.size(4, 160), **common)
            self.add("SeparableConv2D", **config)
        else:
            config = self.activate(filters=self.size(3, 160), **common)
            self.add("Conv2D", **config)
        self.behind("activation" in config, True)

    def image_pool(self, shape):
        side = self.pick(2, 2, 2, 3)
        config = {"pool_size": [min(side, shape[0]), min(side, shape[1])]}
        if self.chance(0.3):
            config |= {"padding": "same", "strides": [2, 2]}
        self.add(self.pick("MaxPooling2D", "MaxPooling2D", "AveragePooling2D"), **config)
        if self.chance(0.2):
            self.add("Dropout", rate=self.pick(0.2, 0.25))

    def shape(self):
        return keras_network.from_json(self.json("shape")).output

    def images(self):
        height = self.pick(14, 20, 28, 28, 32, 32, 32, 33, 48, 64, 96)
        width = height if self.chance(0.7) else self.pick(15, 28, 40, 47, 64)
        self.start(height, width, self.pick(1, 1, 2, 3, 3, 3, 4, 12))
        if self.chance(0.1):
            self.add("BatchNormalization")
        if self.all and self.chance(0.1):
            self.add("Rescaling", scale=2.0, offset=-1.0)
        for _ in range(self.random.randint(1, 7)):
            if self.all and self.chance(0.08):
                self.add("ZeroPadding2D", padding=[1, 1])
            self.image_layer(self.shape())
            if self.chance(0.45) and min(self.shape()[:2]) >= 4:
                self.image_pool(self.shape())
        if self.chance(0.5):
            self.add("Flatten")
        else:
            self.add(self.pick("GlobalAveragePooling2D", *["GlobalMaxPooling2D"] * self.all))

    def sequences(self):
        self.start(self.size(60, 500), self.size(1, 24))
        for _ in range(self.random.randint(1, 4)):
            config = self.activate(filters=self.size(8, 128), kernel_size=[self.pick(1, 3, 3, 5, 8)],
                                   strides=[self.pick(1, 1, 2)], padding="same")
            self.add("Conv1D", **config)
            self.behind("activation" in config, False)
        self.add(self.pick("GlobalAveragePooling1D", "Flatten"))

    def vectors(self):
        self.start(self.size(5, 1500))
        if self.chance(0.1):
            self.add("BatchNormalization")

    def dense(self, most):
        for _ in range(self.random.randint(0, most)):
            config = self.activate(units=self.size(8, 1024))
            if self.chance(0.2):
                config["use_bias"] = False
            self.add("Dense", **config)
            self.behind("activation" in config, False)

    def end(self):
        if self.chance(0.8):
            self.add("Dense", units=self.size(2, 200), activation="softmax")
        else:
            self.add("Dense", units=self.size(1, 20), **({"activation": "sigmoid"} if self.chance(0.5) else {}))

    def start(self, *shape):
        self.layers = [{"class_name": "InputLayer", "config": {"name": "input_layer", "batch_shape": [None, *shape]}}]

    def json(self, name):
        return {"class_name": "Sequential", "config": {"name": name, "layers": self.layers}}


def attempt(writer, name):
    kind = writer.random.random()
    if kind < 0.7 or (kind < 0.8 and not writer.all):
        writer.images()
        writer.dense(2)
    elif kind < 0.8:
        writer.sequences()
        writer.dense(1)
    else:
        writer.vectors()
        writer.dense(12)
    writer.end()
    return writer.json(name)


def reasonable(model):
    network = keras_network.from_json(model)
    return (network.multiply_adds() <= MOST_MULTIPLY_ADDS and network.parameters() <= MOST_PARAMETERS
            and network.activations() <= MOST_ACTIVATIONS)


def generate(seed, index=0, layers="all"):
    """Keras JSON (as a dictionary) of network number `index` of a seed: the first valid one that is not too large."""
    name, writer = f"random-{seed}-{index}", Writer(seed, index, layers)
    while True:
        writer.layers, writer.counts = [], {}
        try:
            model = attempt(writer, name)
            if reasonable(model):
                return model
        except keras_network.Unsupported:  # nothing is left of the image
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("index", type=int, nargs="?", default=0)
    parser.add_argument("--layers", choices=["core", "all"], default="all")
    a = parser.parse_args()
    print(json.dumps(generate(a.seed, a.index, a.layers), indent=1))


if __name__ == "__main__":
    main()
