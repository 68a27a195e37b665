"""A Keras network in plain JAX: initial weights, and the function from weights and inputs to outputs."""
import math

import jax
import jax.numpy as jnp
from jax import lax

import keras_network
from keras_network import Unsupported, convolution_geometry, edges, padding_of, pooling_geometry, rank_of

ACTIVATIONS = {
    "linear": lambda x: x, "relu": jax.nn.relu, "sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "elu": jax.nn.elu,
    "selu": jax.nn.selu, "gelu": lambda x: jax.nn.gelu(x, approximate=False), "swish": jax.nn.silu,
    "silu": jax.nn.silu, "softplus": jax.nn.softplus, "softsign": jax.nn.soft_sign, "relu6": jax.nn.relu6,
    "softmax": jax.nn.softmax, "leaky_relu": lambda x: jax.nn.leaky_relu(x, 0.2),
}
MOMENTUM = 0.99  # Keras' default for moving statistics


def initial(network, key):
    """(trained, statistics): {layer name: {part: array}} each, by Glorot's rule."""
    trained, statistics = {}, {}
    for layer in network.layers:
        for part, shape in layer.weights.items():
            key, used = jax.random.split(key)
            where = statistics if part in keras_network.STATISTICS else trained
            where.setdefault(layer.name, {})[part] = initial_values(part, shape, used)
    return trained, statistics


def initial_values(part, shape, key):
    if "kernel" in part:
        reach = math.prod(shape[:-2])
        bound = math.sqrt(6 / (reach * (shape[-1] + shape[-2])))
        return jax.random.uniform(key, shape, minval=-bound, maxval=bound)
    return jnp.ones(shape) if part in ("gamma", "moving_variance") else jnp.zeros(shape)


def numbers(rank):
    """Axes of inputs, kernels and outputs: Keras' own order."""
    return ("NWC", "WIO", "NWC") if rank == 1 else ("NHWC", "HWIO", "NHWC")


def convolve(layer, x, kernel, strides, pads, dilation, groups=1):
    return lax.conv_general_dilated(x, kernel, strides, pads, rhs_dilation=dilation, feature_group_count=groups,
                                    dimension_numbers=numbers(rank_of(layer.kind)))


def depthwise(layer, x, kernel):
    """Keras' (…, in, multiplier) is JAX' (…, 1, in × multiplier)."""
    size, strides, dilation = convolution_geometry(layer)
    kernel = kernel.reshape(*kernel.shape[:-2], 1, -1)
    return convolve(layer, x, kernel, strides, padding_of(layer, size, strides, dilation), dilation, layer.input[-1])


def convolution(layer, x, w):
    size, strides, dilation = convolution_geometry(layer)
    if layer.kind.startswith("Depthwise"):
        return depthwise(layer, x, w["depthwise_kernel"])
    if layer.kind.startswith("Separable"):
        rank = rank_of(layer.kind)
        x = depthwise(layer, x, w["depthwise_kernel"])
        return convolve(layer, x, w["pointwise_kernel"], (1,) * rank, ((0, 0),) * rank, (1,) * rank)
    if layer.kind == "Conv2DTranspose":
        return lax.conv_transpose(x, w["kernel"], strides, layer.config.get("padding", "valid").upper(),
                                  dimension_numbers=numbers(2), transpose_kernel=True)
    pads = padding_of(layer, size, strides, dilation)
    return convolve(layer, x, w["kernel"], strides, pads, dilation, layer.config.get("groups", 1))


def pooled(layer, x):
    size, strides = pooling_geometry(layer)
    pads = ((0, 0), *padding_of(layer, size, strides), (0, 0))
    window, steps = (1, *size, 1), (1, *strides, 1)
    if layer.kind.startswith("Max"):
        return lax.reduce_window(x, -jnp.inf, lax.max, window, steps, pads)
    total = lax.reduce_window(x, 0.0, lax.add, window, steps, pads)
    if not any(map(any, pads)):
        return total / math.prod(size)
    inside = lax.reduce_window(jnp.ones((1, *x.shape[1:-1], 1), x.dtype), 0.0, lax.add, window, steps, pads)
    return total / inside  # padding does not count in the average


def batch_normalization(layer, x, w, statistics):
    """Normalised by the batch, with updated moving statistics; always computed in fp32."""
    c, axes = layer.config, tuple(range(x.ndim - 1))
    wide = x.astype(jnp.float32) if x.dtype in (jnp.bfloat16, jnp.float16) else x
    mean, variance = wide.mean(axes), wide.var(axes)
    keep = c.get("momentum", MOMENTUM)
    moved = {"moving_mean": keep * statistics["moving_mean"] + (1 - keep) * lax.stop_gradient(mean),
             "moving_variance": keep * statistics["moving_variance"] + (1 - keep) * lax.stop_gradient(variance)}
    factor = lax.rsqrt(variance + c.get("epsilon", 1e-3)) * w.get("gamma", 1.0)
    return ((wide - mean) * factor + w.get("beta", 0.0)).astype(x.dtype), moved


def layer_normalization(layer, x, w):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred * lax.rsqrt(variance + layer.config.get("epsilon", 1e-3)) * w.get("gamma", 1.0) + w.get("beta", 0.0)


def dropped(layer, x, key):
    rate, shape = layer.config["rate"], x.shape
    if layer.kind.startswith("Spatial"):
        shape = (x.shape[0], *(1,) * (x.ndim - 2), x.shape[-1])
    return jnp.where(jax.random.bernoulli(key, 1 - rate, shape), x / (1 - rate), 0).astype(x.dtype)


def leaky(layer):
    c = layer.config
    return c.get("negative_slope", c.get("alpha", 0.3))


def without_weights(layer, x, key):
    """A layer without weights and state, without its activation."""
    kind, c = layer.kind, layer.config
    if kind in keras_network.WINDOWED:
        return pooled(layer, x)
    if kind.startswith("Global"):
        over = tuple(range(1, x.ndim - 1))
        return x.mean(over) if "Average" in kind else x.max(over)
    if kind == "Flatten":
        return x.reshape(x.shape[0], -1)
    if "Dropout" in kind:
        return dropped(layer, x, key)
    if kind == "GaussianNoise":
        return x + c["stddev"] * jax.random.normal(key, x.shape, x.dtype)
    if kind == "LeakyReLU":
        return jax.nn.leaky_relu(x, leaky(layer))
    if kind == "ELU":
        return jax.nn.elu(x, c.get("alpha", 1.0))
    if kind.startswith("ZeroPadding"):
        return jnp.pad(x, ((0, 0), *edges(c.get("padding", 1), rank_of(kind)), (0, 0)))
    if kind.startswith("Cropping"):
        by = edges(c.get("cropping", 0), rank_of(kind))
        return x[(slice(None), *(slice(a, n - b) for n, (a, b) in zip(x.shape[1:], by)))]
    if kind == "UpSampling2D":
        down, across = keras_network.window(c, "size", 2, 2)
        if c.get("interpolation", "nearest") != "nearest":
            return jax.image.resize(x, (x.shape[0], *layer.output), c["interpolation"])
        return jnp.repeat(jnp.repeat(x, down, 1), across, 2)
    if kind == "Reshape":
        return x.reshape(x.shape[0], *layer.output)
    if kind == "Permute":
        return x.transpose(0, *c["dims"])
    if kind == "Rescaling":
        return x * c["scale"] + c.get("offset", 0.0)
    if kind in ("Activation", "ReLU", "Softmax"):
        return x
    raise Unsupported(f"{layer.name}: no JAX counterpart for {kind}")


def apply(network, trained, statistics, x, key, drop=True):
    """(logits or outputs, updated statistics). Without `drop`, nothing is random."""
    moved = {}
    for layer in network.layers:
        w = trained.get(layer.name, {})
        if layer.kind == "BatchNormalization":
            x, moved[layer.name] = batch_normalization(layer, x, w, statistics[layer.name])
        elif layer.kind == "LayerNormalization":
            x = layer_normalization(layer, x, w)
        elif layer.kind == "PReLU":
            x = jnp.where(x > 0, x, x * w["alpha"])
        elif layer.kind == "Dense":
            x = x @ w["kernel"]
        elif "Conv" in layer.kind:
            x = convolution(layer, x, w)
        elif "Dropout" in layer.kind or layer.kind == "GaussianNoise":
            key, used = jax.random.split(key)
            x = without_weights(layer, x, used) if drop else x
        else:
            x = without_weights(layer, x, key)
        if "bias" in w:
            x = x + w["bias"]
        if layer is not network.layers[-1] or not network.softmax:
            x = ACTIVATIONS[layer.activation](x)
    return x, moved


def loss(network, outputs, expected):
    outputs = outputs.astype(jnp.float32) if outputs.dtype in (jnp.bfloat16, jnp.float16) else outputs
    if network.softmax:
        return -jnp.take_along_axis(jax.nn.log_softmax(outputs), expected[:, None], 1).mean()
    return jnp.square(outputs - expected).mean()
