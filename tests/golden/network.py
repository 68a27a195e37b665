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
        fan = {"depthwise_kernel": math.prod(shape[:-2])}.get(kind, math.prod(shape[:-1]))
        self.offset, self.scale = {
            "kernel": (0.0, math.sqrt(3 / fan)),
            "depthwise_kernel": (0.0, math.sqrt(3 / fan)),
            "pointwise_kernel": (0.0, math.sqrt(3 / fan)),
            "bias": (0.0, 0.1),
            "gamma": (1.0, 0.5),
            "beta": (0.0, 0.1),
            "alpha": (0.25, 0.2),
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
            # A dropout of rate 0 is the identity, and so is zero noise.
            if kind not in ("InputLayer", "Dropout", "SpatialDropout2D", "GaussianNoise"):
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
        if len(self.input_shape) > 1:
            x = x.movedim(-1, 1)
        self.penalty = 0.0
        for index, (name, kind, c) in enumerate(self.layers):
            if observe:
                observe(name, kind, c, x)
            x = apply(kind, c, x, lambda part, shape: self._penalised(
                c, part, variable(f"{name}/{part}", shape)))
            activation = c.get("activation", "linear")
            if kind == "ReLU" and c.get("max_value") is None and not c.get("negative_slope"):
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


    def _penalised(self, c, part, value):
        regularizer = c.get(part.replace("_kernel", "") + "_regularizer")
        if regularizer:
            r = regularizer["config"]
            self.penalty = self.penalty + r.get("l1", 0) * value.abs().sum()
            self.penalty = self.penalty + r.get("l2", 0) * (value * value).sum()
        return value


def activate(name, x):
    return {
        "elu": lambda: F.elu(x),
        "selu": lambda: F.selu(x),
        "gelu": lambda: F.gelu(x),
        "gelu_new": lambda: F.gelu(x, approximate="tanh"),
        "swish": lambda: F.silu(x),
        "softplus": lambda: F.softplus(x, threshold=100),
        "softsign": lambda: F.softsign(x),
        "exponential": lambda: torch.exp(x),
        "hard_sigmoid": lambda: torch.clamp(0.2 * x + 0.5, 0, 1),  # Keras 2's
        "leaky_relu": lambda: F.leaky_relu(x, 0.2),
        "relu6": lambda: F.relu6(x),
        "linear": lambda: x,
        "relu": lambda: torch.relu(x),
        "sigmoid": lambda: torch.sigmoid(x),
        "tanh": lambda: torch.tanh(x),
        "softmax": lambda: torch.softmax(x, dim=1),
    }[name]()


def pool_geometry(c):
    size = pair(c["pool_size"])
    return size, pair(c["strides"] or size), c.get("padding", "valid")


def transposed_sizes(size, window, stride, padding):
    """Keras' output size, and how many of PyTorch's leading values it cuts off."""
    out = size * stride + (max(window - stride, 0) if padding == "valid" else 0)
    return out, same_pad(out, window, stride)[0] if padding == "same" else 0


def one_dimensional(kind, c, x, variable):
    """Images with a height of one; a kernel that Keras saves as (steps, …) gets that dimension."""
    wide = {k: (1, v if isinstance(v, int) else v[0])
            for k in ("kernel_size", "strides", "pool_size", "size") if (v := c.get(k))}
    if kind == "ZeroPadding1D":
        wide["padding"] = [(0, 0), c["padding"]]
    config = {**c, **wide}
    if "pool_size" in c and not c.get("strides"):
        config["strides"] = None
    def line(part, shape):
        return variable(part, shape) if len(shape) == 1 else variable(part, shape[1:])[None]
    if config.get("padding") == "causal":
        x, config["padding"] = F.pad(x, (wide["kernel_size"][1] - 1, 0)), "valid"
    y = apply(kind.replace("1D", "2D"), config, x[:, :, None], line)
    return y if kind.startswith("Global") else y[:, :, 0]


def apply(kind, c, x, variable):
    if kind.endswith("1D"):
        return one_dimensional(kind, c, x, variable)
    if kind in ("DepthwiseConv2D", "SeparableConv2D"):
        window, strides = pair(c["kernel_size"]), pair(c.get("strides", 1))
        channels, multiplier = x.shape[1], c.get("depth_multiplier", 1)
        weights = variable("depthwise_kernel", (*window, channels, multiplier))
        weights = weights.flatten(2).permute(2, 0, 1)[:, None]
        y = F.conv2d(pad(x, c["padding"], window, strides, 0.0), weights, None, stride=strides,
                     groups=channels)
        filters = y.shape[1]
        if kind == "SeparableConv2D":
            filters = c["filters"]
            y = F.conv2d(y, variable("pointwise_kernel", (1, 1, y.shape[1], filters)).permute(3, 2, 0, 1))
        return y + variable("bias", (filters,))[:, None, None] if c.get("use_bias", True) else y
    if kind == "Conv2DTranspose":
        window, strides = pair(c["kernel_size"]), pair(c.get("strides", 1))
        weights = variable("kernel", (*window, c["filters"], x.shape[1])).permute(3, 2, 0, 1)
        y = F.conv_transpose2d(x, weights, None, stride=strides)
        high, top = transposed_sizes(x.shape[2], window[0], strides[0], c["padding"])
        wide, left = transposed_sizes(x.shape[3], window[1], strides[1], c["padding"])
        y = F.pad(y, (0, max(left + wide - y.shape[3], 0), 0, max(top + high - y.shape[2], 0)))
        y = y[:, :, top:top + high, left:left + wide]
        return y + variable("bias", (c["filters"],))[:, None, None] if c.get("use_bias", True) else y
    if kind == "ZeroPadding2D":
        (top, bottom), (left, right) = c["padding"]
        return F.pad(x, (left, right, top, bottom))
    if kind == "Cropping2D":
        (top, bottom), (left, right) = c["cropping"]
        return x[:, :, top:x.shape[2] - bottom, left:x.shape[3] - right]
    if kind == "UpSampling2D":
        high, wide = pair(c["size"])
        return x.repeat_interleave(high, 2).repeat_interleave(wide, 3)
    if kind == "Reshape":
        y = x.movedim(1, -1).reshape(x.shape[0], *c["target_shape"])
        return y.movedim(-1, 1)
    if kind == "Permute":
        return x.movedim(1, -1).permute(0, *c["dims"]).movedim(-1, 1)
    if kind == "Rescaling":
        return x * c["scale"] + c["offset"]
    if kind == "LayerNormalization":
        gamma = variable("gamma", (x.shape[1],)) if c.get("scale", True) else None
        beta = variable("beta", (x.shape[1],)) if c.get("center", True) else None
        return F.layer_norm(x.movedim(1, -1), (x.shape[1],), gamma, beta, c["epsilon"]).movedim(-1, 1)
    if kind == "PReLU":
        shape = [1 if i + 1 in (c.get("shared_axes") or []) else size
                 for i, size in enumerate(x.movedim(1, -1).shape[1:])]
        alpha = variable("alpha", tuple(shape)).movedim(-1, 0)
        return torch.where(x > 0, x, alpha * x)
    if kind == "LeakyReLU":
        return F.leaky_relu(x, c["negative_slope"])
    if kind == "ELU":
        return F.elu(x, c["alpha"])
    if kind == "ReLU" and (c.get("max_value") is not None or c.get("negative_slope")):
        threshold, most = c.get("threshold", 0), c.get("max_value")
        y = torch.where(x < threshold, c.get("negative_slope", 0) * (x - threshold), x)
        return y if most is None else torch.where(x >= threshold, y.clamp(max=most), y)
    if kind == "GlobalMaxPooling2D":
        return x.amax(dim=(2, 3))
    if kind == "Dense" and x.dim() > 2:
        y = x.movedim(1, -1) @ variable("kernel", (x.shape[1], c["units"]))
        return (y + variable("bias", (c["units"],))).movedim(-1, 1)
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
        # Padding does not count in the average, so each window divides by its real pixels.
        inside = pad(torch.ones_like(x[:1, :1]), padding, size, strides, 0.0)
        return (F.avg_pool2d(pad(x, padding, size, strides, 0.0), size, strides)
                / F.avg_pool2d(inside, size, strides))
    if kind == "GlobalAveragePooling2D":
        return x.mean(dim=(2, 3))
    if kind == "Flatten":
        return x.movedim(1, -1).flatten(1)
    if kind in ("Activation", "ReLU", "Softmax"):
        return x
    raise SystemExit(f"{c['name']}: the golden maker does not know {kind}")
