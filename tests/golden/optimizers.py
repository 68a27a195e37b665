"""Ten steps of each optimizer by Keras' own update rules, in float64, on PyTorch's gradients."""
import math

import numpy as np
import torch
import torch.nn.functional as F

import formula
from network import Network

BATCH, STEPS = 12, 10
SETTINGS = {
    "sgd": {"learning_rate": 0.1},
    "momentum": {"learning_rate": 0.1, "momentum": 0.9},
    "nesterov": {"learning_rate": 0.1, "momentum": 0.9},
    "adam": {"learning_rate": 0.02, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7},
    "adamw": {"learning_rate": 0.02, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7, "weight_decay": 0.1},
}


def momentum_update(kind, s, w, g, state, _t):
    m = s.get("momentum", 0.0)
    state["v"] = m * state.get("v", 0.0) - s["learning_rate"] * g
    return w + (m * state["v"] - s["learning_rate"] * g if kind == "nesterov" else state["v"])


def adam_update(kind, s, w, g, state, t):
    b1, b2, rate = s["beta1"], s["beta2"], s["learning_rate"]
    if kind == "adamw":
        w = w - rate * s["weight_decay"] * w
    state["m"] = b1 * state.get("m", 0.0) + (1 - b1) * g
    state["v"] = b2 * state.get("v", 0.0) + (1 - b2) * g * g
    # Keras corrects the bias in the rate, so its epsilon is the paper's "epsilon hat".
    rate *= math.sqrt(1 - b2**t) / (1 - b1**t)
    return w - rate * state["m"] / (np.sqrt(state["v"]) + s["epsilon"])


def run(network, kind, settings):
    weights = {p.name: p.keras for p in network.parameters}
    states = {name: {} for name in weights}
    x = torch.from_numpy(formula.inputs((BATCH, *network.input_shape)))
    expected = torch.from_numpy(formula.labels(BATCH, network.outputs))
    update = adam_update if kind.startswith("adam") else momentum_update
    losses = []
    for t in range(1, STEPS + 1):
        leaves = {name: torch.from_numpy(w).requires_grad_() for name, w in weights.items()}
        loss = F.cross_entropy(network.forward(x, lambda name, _: leaves[name]), expected)
        loss.backward()
        losses.append(loss.item())
        weights = {name: update(kind, settings, weights[name], leaf.grad.numpy(), states[name], t)
                   for name, leaf in leaves.items()}
    return losses, weights


def trajectories(path):
    network = Network(path)
    result = {"model": path.stem, "batch": BATCH, "steps": STEPS, "inputs_tensor": formula.INPUTS,
              "loss_kind": "sparse_categorical_crossentropy",
              "parameters": [{"name": p.name, "tensor": p.tensor, "shape": list(p.shape),
                              "offset": p.offset, "scale": p.scale} for p in network.parameters],
              "optimizers": []}
    for kind, settings in SETTINGS.items():
        losses, weights = run(network, kind, settings)
        print(f"{kind:16} loss {losses[0]:.6f} → {losses[-1]:.6f}")
        result["optimizers"].append({
            "kind": kind, **settings, "losses": losses,
            "weights": [{"name": name, "value": formula.summary(w)} for name, w in weights.items()]})
    return result
