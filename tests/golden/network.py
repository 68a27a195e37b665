"""A Keras JSON file as a PyTorch function: the golden values cannot drift from the model files."""
import json
import math

import torch
import torch.nn.functional as F

import formula


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def same_pad(size, window, stride):
    """Keras' "same": ceil(size / stride) outputs, the odd pixel of padding goes to the end."""
    total = max((math.ceil(size / stride) - 1) * stride + window - size, 0)
    return total // 2, total - total // 2


def pad(x, padding, window, strides, value):
    if padding == "valid":
        return x
    top, bottom = same_pad(x.shape[2], window[0], strides[0])
    left, right = same_pad(x.shape[3], window[1], strides[1])
    return F.pad(x, (left, right, top, bottom), value=value)


class Parameter:
    def __init__(self, name, tensor, shape):
        kind = name.split("/")[1]
        self.name, self.tensor, self.shape = name, tensor, shape
        self.offset, self.scale = {
            "kernel": (0.0, math.sqrt(3 / math.prod(shape[:-1]))),
            "bias": (0.0, 0.1),
            "gamma": (1.0, 0.5),
            "beta": (0.0, 0.1),
        }[kind]
        self.keras = formula.parameter(tensor, shape, self.offset, self.scale)  # (h, w, in, out)


class Network:
    """layers: (name, class, config) without the InputLayer and dropouts; parameters in Keras' order."""

    def __init__(self, path):
        config = json.loads(path.read_text())["config"]
        layers = config if isinstance(config, list) else config["layers"]
        self.layers, self.parameters = [], []
        first = layers[0]["config"]
        shape = next(first[k] for k in ("batch_shape", "batch_input_shape") if k in first)
        self.input_shape = tuple(shape[1:])
        for layer in layers:
            kind, c = layer["class_name"], layer["config"]
            if kind not in ("InputLayer", "Dropout"):  # a dropout of rate 0 is the identity
                self.layers.append((c["name"], kind, c))
        self._declare_parameters()
        last_kind, last = self.layers[-1][1:]
        self.softmax = last_kind == "Softmax" or last.get("activation") == "softmax"

    def _declare_parameters(self):
        # Shapes follow from running the layers on zeros, which creates each parameter on first use.
        self._values = {}
        with torch.no_grad():
            output = self.forward(torch.zeros((2, *self.input_shape), dtype=torch.float64), self._declare)
        self.outputs = output.shape[1]

    def _declare(self, name, shape):
        parameter = Parameter(name, len(self.parameters) + 1, shape)
        self.parameters.append(parameter)
        return torch.from_numpy(parameter.keras)

    def forward(self, x, variable, observe=None):
        """Logits where the model ends in softmax. `variable(name, shape)` gives tensors in Keras'
        layout; `observe` sees (class, config, input) of each operation, for margins and statistics."""
        if len(self.input_shape) == 3:
            x = x.permute(0, 3, 1, 2)
        for index, (name, kind, c) in enumerate(self.layers):
            if observe:
                observe(name, kind, c, x)
            x = apply(kind, c, x, lambda part, shape: variable(f"{name}/{part}", shape))
            activation = c.get("activation", "linear")
            if kind == "ReLU":
                activation = "relu"
            elif kind == "Softmax":
                activation = "softmax"
            if activation == "softmax" and index == len(self.layers) - 1:
                return x
            if observe and activation == "relu":
                following = self.layers[index + 1] if index + 1 < len(self.layers) else None
                observe(name, "relu", following, x)
            x = activate(activation, x)
        return x


def activate(name, x):
    return {
        "linear": lambda: x,
        "relu": lambda: torch.relu(x),
        "sigmoid": lambda: torch.sigmoid(x),
        "tanh": lambda: torch.tanh(x),
        "softmax": lambda: torch.softmax(x, dim=1),
    }[name]()


def pool_geometry(c):
    size = pair(c["pool_size"])
    return size, pair(c["strides"] or size), c.get("padding", "valid")


def apply(kind, c, x, variable):
    if kind == "Conv2D":
        window, strides = pair(c["kernel_size"]), pair(c.get("strides", 1))
        weights = variable("kernel", (*window, x.shape[1], c["filters"])).permute(3, 2, 0, 1)
        bias = variable("bias", (c["filters"],)) if c.get("use_bias", True) else None
        return F.conv2d(pad(x, c["padding"], window, strides, 0.0), weights, bias, stride=strides)
    if kind == "Dense":
        weights = variable("kernel", (x.shape[1], c["units"]))
        y = x @ weights
        return y + variable("bias", (c["units"],)) if c.get("use_bias", True) else y
    if kind == "BatchNormalization":
        gamma = variable("gamma", (x.shape[1],)) if c.get("scale", True) else None
        beta = variable("beta", (x.shape[1],)) if c.get("center", True) else None
        return F.batch_norm(x, None, None, gamma, beta, training=True, eps=c["epsilon"])
    if kind == "MaxPooling2D":
        size, strides, padding = pool_geometry(c)
        return F.max_pool2d(pad(x, padding, size, strides, -math.inf), size, strides)
    if kind == "AveragePooling2D":
        size, strides, padding = pool_geometry(c)
        # Padding is left out of the average, so each window divides by the pixels it really has.
        inside = pad(torch.ones_like(x[:1, :1]), padding, size, strides, 0.0)
        return (F.avg_pool2d(pad(x, padding, size, strides, 0.0), size, strides)
                / F.avg_pool2d(inside, size, strides))
    if kind == "GlobalAveragePooling2D":
        return x.mean(dim=(2, 3))
    if kind == "Flatten":
        return x.permute(0, 2, 3, 1).flatten(1) if x.dim() == 4 else x
    if kind in ("Activation", "ReLU", "Softmax"):
        return x
    raise SystemExit(f"{c['name']}: the golden maker does not know {kind}")
