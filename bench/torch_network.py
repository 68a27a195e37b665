"""A Keras network as a PyTorch module, at PyTorch's best: its own layers, its own memory layout."""
import math

import torch
import torch.nn.functional as F
from torch import nn

import keras_network
from keras_network import Unsupported, convolution_geometry, edges, padding_of, pooling_geometry, rank_of

ACTIVATIONS = {
    "relu": nn.ReLU, "sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "elu": nn.ELU, "selu": nn.SELU, "gelu": nn.GELU,
    "swish": nn.SiLU, "silu": nn.SiLU, "softplus": nn.Softplus, "softsign": nn.Softsign, "relu6": nn.ReLU6,
    "softmax": lambda: nn.Softmax(dim=1), "leaky_relu": lambda: nn.LeakyReLU(0.2),
}


class Call(nn.Module):
    """A layer without weights that PyTorch has no module for."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class GaussianNoise(nn.Module):
    def __init__(self, stddev):
        super().__init__()
        self.stddev = stddev

    def forward(self, x):
        return x + self.stddev * torch.randn_like(x) if self.training else x


class AverageInside(nn.Module):
    """Average pooling with uneven "same" padding, which Keras excludes from the average."""

    def __init__(self, shape, pads, size, strides):
        super().__init__()
        self.pads, self.size, self.strides = pads, size, strides
        inside = F.pad(torch.ones(1, 1, *shape), pads)
        self.register_buffer("share", 1 / (average(inside, size, strides)))

    def forward(self, x):
        return average(F.pad(x, self.pads), self.size, self.strides) * self.share.to(x.dtype)


class LastAxis(nn.LayerNorm):
    """LayerNormalization over the channels, which are the second axis here."""

    def forward(self, x):
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


class PReLU(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.weight = nn.Parameter(torch.full((shape[-1], *shape[:-1]), 0.25))

    def forward(self, x):
        return torch.where(x > 0, x, x * self.weight)


def average(x, size, strides):
    return (F.avg_pool1d if x.dim() == 3 else F.avg_pool2d)(x, size, strides)


def flat_pads(pads):
    """PyTorch lists the last axis first."""
    return [n for pair in reversed(pads) for n in pair]


def even(pads):
    return all(before == after for before, after in pads)


def padded(pads, module, value=0.0):
    """The module after explicit padding, if its own cannot express it."""
    if not any(map(any, pads)):
        return [module]
    amounts = flat_pads(pads)
    return [Call(lambda x: F.pad(x, amounts, value=value)), module]


def convolution(kind, channels, filters, layer, use_bias, groups=1):
    size, strides, dilation = convolution_geometry(layer)
    pads = padding_of(layer, size, strides, dilation)
    module = nn.Conv1d if rank_of(kind) == 1 else nn.Conv2d
    if even(pads):
        return [module(channels, filters, size, strides, [before for before, _ in pads], dilation, groups, use_bias)]
    return padded(pads, module(channels, filters, size, strides, 0, dilation, groups, use_bias))


def transposed(layer, use_bias):
    size, strides, _ = convolution_geometry(layer)
    channels, filters = layer.input[-1], layer.output[-1]
    cut = []  # what Keras cuts off the full result, which is (n - 1) * stride + size long
    for n, wanted, s, t in zip(layer.input, layer.output, size, strides):
        total = (n - 1) * t + s - wanted
        cut.append((total // 2, total - total // 2) if total > 0 else (0, total))
    module = nn.ConvTranspose2d(channels, filters, size, strides, bias=use_bias)
    if not any(map(any, cut)):
        return [module]
    amounts = flat_pads([(-before, -after) for before, after in cut])
    return [module, Call(lambda x: F.pad(x, amounts))]


def pooling(layer):
    size, strides = pooling_geometry(layer)
    pads = padding_of(layer, size, strides)
    rank, largest = rank_of(layer.kind), layer.kind.startswith("Max")
    own = even(pads) and all(2 * before <= s for (before, _), s in zip(pads, size))
    at = [before for before, _ in pads]
    if largest:
        module = nn.MaxPool1d if rank == 1 else nn.MaxPool2d
        return [module(size, strides, at)] if own else padded(pads, module(size, strides), -math.inf)
    module = nn.AvgPool1d if rank == 1 else nn.AvgPool2d
    if own:
        return [module(size, strides, at, count_include_pad=False)]
    return [AverageInside(layer.input[:-1], flat_pads(pads), size, strides)]


def normalization(layer):
    c, channels = layer.config, layer.input[-1]
    affine = c.get("scale", True) or c.get("center", True)
    if layer.kind == "LayerNormalization":
        return [LastAxis(channels, c.get("epsilon", 1e-3), affine)]
    module = {1: nn.BatchNorm1d, 2: nn.BatchNorm1d, 3: nn.BatchNorm2d}[len(layer.input)]
    made = module(channels, c.get("epsilon", 1e-3), 1 - c.get("momentum", 0.99), affine)
    if affine:  # PyTorch has both or none
        made.weight.requires_grad_(c.get("scale", True))
        made.bias.requires_grad_(c.get("center", True))
    return [made]


def permuted(layer):
    """Through Keras' order of axes, channels last."""
    dims = [0, *layer.config["dims"]]
    return Call(lambda x: x.movedim(1, -1).permute(dims).movedim(-1, 1))


def modules_of(layer):
    """PyTorch's modules for a layer, without its activation."""
    kind, c, channels, filters = layer.kind, layer.config, layer.input[-1], layer.output[-1]
    use_bias = c.get("use_bias", True)
    if kind in ("Conv1D", "Conv2D"):
        return convolution(kind, channels, filters, layer, use_bias, c.get("groups", 1))
    if kind in ("DepthwiseConv1D", "DepthwiseConv2D"):
        return convolution(kind, channels, filters, layer, use_bias, channels)
    if kind in ("SeparableConv1D", "SeparableConv2D"):
        between = channels * c.get("depth_multiplier", 1)
        point = (nn.Conv1d if rank_of(kind) == 1 else nn.Conv2d)(between, filters, 1, bias=use_bias)
        return [*convolution(kind, channels, between, layer, False, channels), point]
    if kind == "Conv2DTranspose":
        return transposed(layer, use_bias)
    if kind in keras_network.WINDOWED:
        return pooling(layer)
    if kind.startswith("Global"):
        if c.get("keepdims"):
            raise Unsupported(f"{layer.name}: keepdims")
        if "Average" in kind:
            return [Call(lambda x: x.mean(dim=tuple(range(2, x.dim()))))]
        return [Call(lambda x: x.amax(dim=tuple(range(2, x.dim()))))]
    if kind == "Flatten":
        return [nn.Flatten()]
    if kind == "Dense":
        if len(layer.input) > 1:
            raise Unsupported(f"{layer.name}: a dense layer of an image")
        return [nn.Linear(channels, filters, use_bias)]
    if kind == "Dropout":
        return [nn.Dropout(c["rate"])]
    if kind == "SpatialDropout1D":
        return [Call(lambda x: F.dropout2d(x.unsqueeze(-1), c["rate"]).squeeze(-1))]
    if kind == "SpatialDropout2D":
        return [nn.Dropout2d(c["rate"])]
    if kind == "GaussianNoise":
        return [GaussianNoise(c["stddev"])]
    if kind in ("BatchNormalization", "LayerNormalization"):
        return normalization(layer)
    if kind == "LeakyReLU":
        return [nn.LeakyReLU(c.get("negative_slope", c.get("alpha", 0.3)))]
    if kind == "ELU":
        return [nn.ELU(c.get("alpha", 1.0))]
    if kind == "PReLU":
        return [PReLU(layer.weights["alpha"])]
    if kind in ("ZeroPadding1D", "ZeroPadding2D", "Cropping1D", "Cropping2D"):
        sign = 1 if kind.startswith("Zero") else -1
        by = edges(c.get("padding", c.get("cropping", 1)), rank_of(kind))
        return [Call(lambda x, amounts=flat_pads([(sign * a, sign * b) for a, b in by]): F.pad(x, amounts))]
    if kind == "UpSampling2D":
        factors = tuple(map(float, keras_network.window(c, "size", 2, 2)))
        return [nn.Upsample(scale_factor=factors, mode=c.get("interpolation", "nearest"))]
    if kind == "Reshape":
        target = layer.output
        return [Call(lambda x: (x.movedim(1, -1) if x.dim() > 2 else x).reshape(-1, *target).movedim(-1, 1))]
    if kind == "Permute":
        return [permuted(layer)]
    if kind == "Rescaling":
        return [Call(lambda x: x * c["scale"] + c.get("offset", 0.0))]
    if kind in ("Activation", "ReLU", "Softmax"):
        return []
    raise Unsupported(f"{layer.name}: no PyTorch counterpart for {kind}")


def activation_of(layer, before):
    name = layer.activation
    if layer.kind == "ReLU" and any(layer.config.get(k) for k in ("max_value", "negative_slope", "threshold")):
        raise Unsupported(f"{layer.name}: a ReLU with parameters")
    if name == "linear":
        return []
    if name not in ACTIVATIONS:
        raise Unsupported(f"{layer.name}: activation {name}")
    # In place if nothing needs the previous value.
    if name == "relu" and isinstance(before, (nn.Conv1d, nn.Conv2d, nn.Linear, nn.BatchNorm1d, nn.BatchNorm2d)):
        return [nn.ReLU(inplace=True)]
    return [ACTIVATIONS[name]()]


def build(network):
    """An nn.Sequential from channels-second inputs to logits, or to the outputs if it does not end in softmax."""
    modules = []
    for layer in network.layers:
        made = modules_of(layer)
        modules += made
        if not (layer is network.layers[-1] and network.softmax):
            modules += activation_of(layer, modules[-1] if modules else None)
    return nn.Sequential(*modules)


def inputs(network, batch, **options):
    """Random inputs in PyTorch's order of axes."""
    return torch.rand(batch, network.input[-1], *network.input[:-1], **options)


def answers(network, batch, **options):
    """Random labels, or targets if the loss is mean squared error."""
    if network.softmax:
        return torch.randint(0, network.output[-1], (batch,), **options)
    return torch.rand(batch, network.output[-1], *network.output[:-1], **options)


def loss_of(network):
    return nn.CrossEntropyLoss() if network.softmax else nn.MSELoss()


def channels_last(tensor_or_module):
    """In PyTorch's channels-last layout, which exists only for images."""
    if isinstance(tensor_or_module, nn.Module) or tensor_or_module.dim() == 4:
        return tensor_or_module.to(memory_format=torch.channels_last)
    return tensor_or_module


def assign(model, network, weights):
    """Sets the module's weights from Keras' layout: `weights[layer name][part]` are arrays."""
    found = iter(m for m in model if list(m.parameters()))
    with torch.no_grad():
        image = None  # the shape of the image behind a layer's flat inputs
        for layer in network.layers:
            if layer.weights:
                given = {part: torch.as_tensor(value) for part, value in weights[layer.name].items()}
                put(layer, given, found, image)
            if layer.kind == "Flatten" and len(layer.input) > 1:
                image = layer.input
            elif layer.output != layer.input or layer.kind == "Dense":
                image = None
    return model


def channels_first(vector, image):
    """Values for each feature of a flat image, moved to PyTorch's order."""
    return vector if image is None else vector.reshape(*image).movedim(-1, 0).reshape(-1)


def put(layer, given, modules, image):
    module = next(modules)
    rank = len(layer.input) - 1
    if layer.kind.startswith("Separable"):
        module.weight.copy_(grouped(given["depthwise_kernel"], rank))
        module = next(modules)
        module.weight.copy_(given["pointwise_kernel"].movedim((-1, -2), (0, 1)))
    elif layer.kind.startswith("Depthwise"):
        module.weight.copy_(grouped(given["depthwise_kernel"], rank))
    elif layer.kind == "Conv2DTranspose":
        module.weight.copy_(given["kernel"].movedim((-1, -2), (0, 1)))
    elif layer.kind == "Dense":
        rows = given["kernel"]
        if image is not None:
            rows = rows.reshape(*image, -1).movedim(len(image) - 1, 0).reshape(-1, rows.shape[-1])
        module.weight.copy_(rows.T)
    elif layer.kind == "PReLU":
        module.weight.copy_(given["alpha"].movedim(-1, 0))
    elif "kernel" in given:
        module.weight.copy_(given["kernel"].movedim((-1, -2), (0, 1)))
    for part, name in (("gamma", "weight"), ("beta", "bias"), ("bias", "bias")):
        if part in given:
            getattr(module, name).copy_(channels_first(given[part], image if part != "bias" else None))


def grouped(kernel, rank):
    """(…, in, multiplier) as PyTorch's (in × multiplier, 1, …)."""
    return kernel.reshape(*kernel.shape[:rank], -1).movedim(-1, 0).unsqueeze(1)
