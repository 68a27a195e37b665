"""Inputs, weights and labels as exact integer formulas, which any language reproduces bit for bit."""
import math

import numpy as np

INPUTS, TARGETS, SIGNS = 0, 1000, 77  # tensor numbers that are not parameters
SAMPLES = 512  # gradient elements kept per parameter, at most


def words(tensor, size):
    """32-bit hashes of (tensor, element); unsigned arithmetic modulo 2^32."""
    mask = np.uint64(0xFFFFFFFF)
    i = np.arange(size, dtype=np.uint64)
    h = (i * np.uint64(2654435761) + np.uint64(tensor * 40503 + 12345)) & mask
    h ^= h >> np.uint64(15)
    h = (h * np.uint64(2246822519)) & mask
    return h ^ (h >> np.uint64(13))


def uniform(tensor, size):
    """In [0, 1), multiples of 2^-24."""
    return (words(tensor, size) >> np.uint64(8)).astype(np.float64) * 2.0**-24


def rounded(values):
    """To float32 and back: the engine's precision, stored in float64."""
    return values.astype(np.float32).astype(np.float64)


def inputs(shape, tensor=INPUTS):
    return rounded(uniform(tensor, math.prod(shape))).reshape(shape)


def targets(shape):
    return rounded(uniform(TARGETS, math.prod(shape)) - 0.5).reshape(shape)


def labels(count, classes):
    return (np.arange(count) * 7 + 3) % classes


def parameter(tensor, shape, offset, scale):
    centred = (uniform(tensor, math.prod(shape)) - 0.5) * 2
    return rounded(offset + centred * scale).reshape(shape)


def nine_digits(value):
    return float(f"{value:.9g}")


def summary(values):
    """What a golden file stores of one tensor (Keras' layout)."""
    flat = values.reshape(-1)
    signs = 1.0 - 2.0 * (words(SIGNS, flat.size) & np.uint64(1)).astype(np.float64)
    stride = max(1, flat.size // SAMPLES)
    return {
        "l2": nine_digits(np.linalg.norm(flat)),
        "max_abs": nine_digits(np.abs(flat).max()),
        "signed_sum": nine_digits((flat * signs).sum()),
        "stride": stride,
        "samples": [nine_digits(v) for v in flat[: SAMPLES * stride : stride]],
    }
