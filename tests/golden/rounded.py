#!/usr/bin/python3
"""What rounding the operands of convolutions moves in golden gradients, in PyTorch and float64 otherwise.

    tests/golden/rounded.py mobile many-shapes norm-fusions resident-mix

For each model and type of operand the worst variable's deviation from its golden gradient (the norm of the difference,
as a share), with every convolution rounded and with those over up to four channels left as they are, which is what the
GPU engine does. Depthwise convolutions and dense layers are not rounded. It explains the tolerances of
tests/engine_cuda/golden_test.cpp: a rounding that moves one winner of a maximum or one ReLU moves a whole gradient.
"""
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

import formula
import make
import network as golden

HERE = pathlib.Path(__file__).resolve().parent
plain_convolution = F.conv2d
FEW_CHANNELS = 4


def to_tf32(t):
    bits = t.detach().float().numpy().view(np.uint32)
    return torch.from_numpy(((bits + 0x1000) & 0xFFFFE000).astype(np.uint32).view(np.float32)).double()


ROUNDINGS = {"tf32": to_tf32, "bf16": lambda t: t.float().bfloat16().double(), "fp16": lambda t: t.float().half().double()}


def rounded_convolution(rounded, all_of_them):
    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(context, x, w, stride):
            context.save_for_backward(x, w)
            context.stride = stride
            return plain_convolution(rounded(x), rounded(w), None, stride)

        @staticmethod
        def backward(context, g):
            x, w = context.saved_tensors
            return (torch.nn.grad.conv2d_input(x.shape, rounded(w), rounded(g), context.stride),
                    torch.nn.grad.conv2d_weight(rounded(x), w.shape, rounded(g), context.stride), None)

    def convolution(x, w, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if groups != 1 or padding != 0 or dilation != 1 or not (all_of_them or x.shape[1] > FEW_CHANNELS):
            return plain_convolution(x, w, bias, stride, padding, dilation, groups)
        y = Rounded.apply(x, w, stride)
        return y if bias is None else y + bias.view(1, -1, 1, 1)
    return convolution


def worst_deviation(name):
    expected = json.loads((HERE / f"{name}.json").read_text())
    model = HERE / "models" / f"{name}.json"
    layers = json.loads(model.read_text())["config"]["layers"]
    shape = next(c.get("batch_shape") or c["batch_input_shape"] for c in (layer["config"] for layer in layers)
                 if "batch_shape" in c or "batch_input_shape" in c)[1:]
    inputs = formula.inputs((expected["batch"], *shape))
    _, _, gradients = make.gradients(golden.Network(model), inputs, torch.float64)
    worst = 0.0, ""
    for parameter in expected["parameters"]:
        wanted, stride = np.array(parameter["gradient"]["samples"]), int(parameter["gradient"]["stride"])
        found = np.asarray(gradients[parameter["name"]]).ravel()[::stride][:len(wanted)]
        worst = max(worst, (np.linalg.norm(found - wanted) / np.linalg.norm(wanted), parameter["name"]))
    return worst


def main():
    for name in sys.argv[1:] or ["mobile"]:
        for kind, rounded in ROUNDINGS.items():
            for all_of_them in (True, False):
                F.conv2d = rounded_convolution(rounded, all_of_them)
                deviation, variable = worst_deviation(name)
                print(f"{name}, {kind}, {'all' if all_of_them else 'over more than 4 channels'}: "
                      f"{deviation:.4f} ({variable})")


if __name__ == "__main__":
    main()
