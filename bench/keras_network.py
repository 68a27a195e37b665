"""Keras JSON of a Sequential model as plain values: layers with their shapes, weights and costs.

Shared by the translators to PyTorch and JAX, the generator and the suite, so that each of Keras' shape
rules is written once. Shapes are per sample, channels last.
"""
import dataclasses
import json
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
SUITE, ZOO = HERE / "networks", HERE.parent / "src" / "model" / "zoo"


def suite():
    """The names of the networks outside the zoo."""
    return sorted(path.stem for path in SUITE.glob("*.json"))


def find(name):
    """The path of a network of the suite or the zoo, by name, or of a file."""
    places = [pathlib.Path(name), SUITE / f"{name}.json", ZOO / f"{name}.json"]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise SystemExit(f"bench: there is no network {name}")
    return path.resolve()


class Unsupported(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Layer:
    name: str
    kind: str
    config: dict
    input: tuple
    output: tuple
    weights: dict  # part → shape in Keras' layout; those of STATISTICS are not trained

    @property
    def activation(self):
        """Its own, or the one that the layer is: "relu" for a ReLU without parameters."""
        name = self.config.get("activation") or "linear"
        name = name if isinstance(name, str) else name["config"] if isinstance(name["config"], str) else name["class_name"]
        return {"ReLU": "relu", "Softmax": "softmax"}.get(self.kind, name)


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    input: tuple
    layers: list

    @property
    def output(self):
        return self.layers[-1].output if self.layers else self.input

    @property
    def softmax(self):
        """Ends in softmax: its loss is cross-entropy; that of any other network is mean squared error."""
        return self.layers[-1].activation == "softmax"

    def parameters(self):
        return sum(math.prod(shape) for layer in self.layers for shape in layer.weights.values())

    def activations(self):
        """Outputs of all layers per sample, without activations or biases inside a layer."""
        return sum(math.prod(layer.output) for layer in self.layers)

    def multiply_adds(self):
        """Forward per sample, over the layers that have kernels."""
        return sum(multiply_adds(layer) for layer in self.layers)


STATISTICS = ("moving_mean", "moving_variance")
# Layers that compute nothing, and layers that learn nothing.
WINDOWED = {"MaxPooling2D", "AveragePooling2D", "MaxPooling1D", "AveragePooling1D"}
SHAPELESS = {"Dropout", "SpatialDropout1D", "SpatialDropout2D", "GaussianNoise", "Activation", "ReLU", "Softmax",
             "LeakyReLU", "ELU", "Rescaling"}


def multiples(value, rank):
    return (value,) * rank if isinstance(value, int) else tuple(value)


def window(layer_config, key, rank, otherwise=1):
    value = layer_config.get(key)
    return multiples(otherwise if value is None else value, rank)


def rank_of(kind):
    """Spatial dimensions of a convolution or pooling."""
    return 1 if "1D" in kind else 2


def edges(value, rank):
    """Padding or cropping as ((before, after), …) from Keras' three ways to write it."""
    return tuple(multiples(pair, 2) for pair in multiples(value, rank))


def same_padding(size, span, stride):
    """Keras' "same": ceil(size / stride) outputs, the odd pixel of padding goes to the end."""
    total = max((math.ceil(size / stride) - 1) * stride + span - size, 0)
    return total // 2, total - total // 2


def padding_of(layer, size, strides, dilation=None):
    """((before, after), …) of a layer with a window over its input."""
    spans = [1 + (s - 1) * d for s, d in zip(size, dilation or (1,) * len(size))]
    if layer.config.get("padding", "valid") == "valid":
        return ((0, 0),) * len(size)
    return tuple(same_padding(n, s, t) for n, s, t in zip(layer.input, spans, strides))


def windows_along(config, shape, size, strides, dilation=None):
    """Spatial output shape of a window that moves over `shape`."""
    spans = [1 + (s - 1) * d for s, d in zip(size, dilation or (1,) * len(size))]
    if config.get("padding", "valid") == "same":
        return tuple(math.ceil(n / t) for n, t in zip(shape, strides))
    if config.get("padding", "valid") != "valid":
        raise Unsupported(f"{config['name']}: padding {config['padding']}")
    return tuple((n - s) // t + 1 for n, s, t in zip(shape, spans, strides))


def pooling_geometry(layer):
    """Size and strides; Keras' strides are the size unless given."""
    rank = rank_of(layer.kind)
    size = window(layer.config, "pool_size", rank, 2)
    return size, window(layer.config, "strides", rank, size)


def convolution_geometry(layer):
    rank = rank_of(layer.kind)
    return tuple(window(layer.config, key, rank) for key in ("kernel_size", "strides", "dilation_rate"))


def bias(c, count):
    return {"bias": (count,)} if c.get("use_bias", True) else {}


def convolution(kind, c, shape):
    rank, channels = rank_of(kind), shape[-1]
    size, strides, dilation = (window(c, key, rank) for key in ("kernel_size", "strides", "dilation_rate"))
    if kind == "Conv2DTranspose":
        grow = [n * t if c.get("padding") == "same" else (n - 1) * t + max(s, t) for n, s, t in zip(shape, size, strides)]
        return (*grow, c["filters"]), {"kernel": (*size, c["filters"], channels), **bias(c, c["filters"])}
    spatial = windows_along(c, shape[:rank], size, strides, dilation)
    multiplier = c.get("depth_multiplier", 1)
    if kind.startswith("Depthwise"):
        filters = channels * multiplier
        return (*spatial, filters), {"depthwise_kernel": (*size, channels, multiplier), **bias(c, filters)}
    filters = c["filters"]
    if kind.startswith("Separable"):
        return (*spatial, filters), {"depthwise_kernel": (*size, channels, multiplier),
                                     "pointwise_kernel": (*(1,) * rank, channels * multiplier, filters),
                                     **bias(c, filters)}
    return (*spatial, filters), {"kernel": (*size, channels // c.get("groups", 1), filters), **bias(c, filters)}


def reshaped(c, shape):
    target = list(c["target_shape"])
    if -1 in target:
        at = target.index(-1)
        target[at] = math.prod(shape) // math.prod(n for n in target if n != -1)
    return tuple(target)


def shape_and_weights(kind, c, shape):
    """(output shape, weights) of one layer for an input shape."""
    channels = shape[-1]
    if kind in ("Conv1D", "Conv2D", "DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D",
                "Conv2DTranspose"):
        return convolution(kind, c, shape)
    if kind in WINDOWED:
        rank = rank_of(kind)
        size = window(c, "pool_size", rank, 2)
        return (*windows_along(c, shape[:rank], size, window(c, "strides", rank, size)), channels), {}
    if kind.startswith("Global"):
        return (channels,), {}
    if kind == "Flatten":
        return (math.prod(shape),), {}
    if kind == "Dense":
        return (*shape[:-1], c["units"]), {"kernel": (channels, c["units"]), **bias(c, c["units"])}
    if kind in ("BatchNormalization", "LayerNormalization"):
        weights = {"gamma": (channels,)} if c.get("scale", True) else {}
        weights |= {"beta": (channels,)} if c.get("center", True) else {}
        return shape, weights | (dict.fromkeys(STATISTICS, (channels,)) if kind == "BatchNormalization" else {})
    if kind == "PReLU":
        shared = c.get("shared_axes") or []
        return shape, {"alpha": tuple(1 if i + 1 in shared else n for i, n in enumerate(shape))}
    if kind in ("ZeroPadding1D", "ZeroPadding2D", "Cropping1D", "Cropping2D"):
        rank, sign = rank_of(kind), 1 if kind.startswith("Zero") else -1
        by = edges(c.get("padding", c.get("cropping", 1 if sign > 0 else 0)), rank)
        return (*(n + sign * (a + b) for n, (a, b) in zip(shape, by)), channels), {}
    if kind == "UpSampling2D":
        return (*(n * f for n, f in zip(shape, window(c, "size", 2, 2))), channels), {}
    if kind == "Reshape":
        return reshaped(c, shape), {}
    if kind == "Permute":
        return tuple(shape[i - 1] for i in c["dims"]), {}
    if kind in SHAPELESS:
        return shape, {}
    raise Unsupported(f"{c.get('name', kind)}: {kind} is not known to the benchmarks")


def multiply_adds(layer):
    positions = math.prod(layer.output[:-1])
    if layer.kind == "Conv2DTranspose":
        positions = math.prod(layer.input[:-1])
    return positions * sum(math.prod(shape) for part, shape in layer.weights.items() if part.endswith("kernel"))


def from_json(model):
    config = model["config"]
    entries = config if isinstance(config, list) else config["layers"]
    first = entries[0]["config"]
    given = next(first[key] for key in ("batch_shape", "batch_input_shape") if key in first)
    shape, layers = tuple(given[1:]), []
    for index, entry in enumerate(entries):
        kind, c = entry["class_name"], entry["config"]
        if kind == "InputLayer":
            continue
        c = {"name": f"{kind.lower()}_{index}", **c}
        output, weights = shape_and_weights(kind, c, shape)
        if min(output) < 1:
            raise Unsupported(f"{c['name']}: nothing is left of {shape}")
        layers.append(Layer(c["name"], kind, c, shape, output, weights))
        shape = output
    name = "network" if isinstance(config, list) else config.get("name", "network")
    return Network(name, tuple(given[1:]), layers)


def read(name_or_path):
    return from_json(json.loads(find(name_or_path).read_text()))
