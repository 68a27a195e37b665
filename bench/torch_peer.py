#!/usr/bin/python3
"""PyTorch's side of the benchmark: one configuration, training steps on request.

Arguments: THREADS contiguous|channels_last foreach|single. Says one line of JSON when ready, then
answers each "run BATCH STEPS" on stdin with the seconds of that many full training steps.
"""
import json
import pathlib
import sys
import time

import torch
from torch import nn

ZOO = pathlib.Path(__file__).resolve().parent.parent / "src" / "model" / "zoo"
INPUT_SETS = 4  # batches cycled through, as the other contestants do


def build(name):
    """The zoo's own file as PyTorch modules, so that both sides train the same network."""
    layers = json.loads((ZOO / f"{name}.json").read_text())["config"]["layers"]
    shape = layers[0]["config"]["batch_shape"][1:]
    height, width, channels = shape
    modules = []
    for layer in layers[1:]:
        kind, c = layer["class_name"], layer["config"]
        if kind == "Conv2D":
            modules.append(nn.Conv2d(channels, c["filters"], c["kernel_size"]))
            height, width = (n - k + 1 for n, k in zip((height, width), c["kernel_size"]))
            channels = c["filters"]
        elif kind == "MaxPooling2D":
            modules.append(nn.MaxPool2d(c["pool_size"], c["strides"]))
            height, width = height // c["pool_size"][0], width // c["pool_size"][1]
        elif kind == "Flatten":
            modules.append(nn.Flatten())
            channels *= height * width
        elif kind == "Dropout":
            modules.append(nn.Dropout(c["rate"]))
        elif kind == "Dense":
            modules.append(nn.Linear(channels, c["units"]))
            channels = c["units"]
        else:
            raise SystemExit(f"{name}: no PyTorch counterpart for {kind}")
        if c.get("activation") == "relu":
            modules.append(nn.ReLU(inplace=True))  # softmax is part of the loss
    return nn.Sequential(*modules), shape, channels


class Peer:
    def __init__(self, memory_format, foreach):
        torch.manual_seed(1000)
        self.format = getattr(torch, f"{memory_format}_format" if memory_format == "contiguous" else memory_format)
        self.model, self.shape, self.classes = build("paper-cnn")
        self.model.to(memory_format=self.format).train()
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.001, foreach=foreach)
        self.batches = {}

    def data(self, batch):
        if batch not in self.batches:
            height, width, channels = self.shape
            self.batches[batch] = [
                (torch.rand(batch, channels, height, width).contiguous(memory_format=self.format),
                 torch.randint(0, self.classes, (batch,)))
                for _ in range(INPUT_SETS)]
        return self.batches[batch]

    def run(self, batch, steps):
        data = self.data(batch)
        start = time.perf_counter()
        for step in range(steps):
            inputs, labels = data[step % INPUT_SETS]
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss(self.model(inputs), labels)
            loss.backward()
            self.optimizer.step()
        loss.item()
        return time.perf_counter() - start


def main():
    threads, memory_format, adam = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    torch.set_num_threads(threads)
    if not torch.set_flush_denormal(True):
        print("this CPU cannot flush denormals", file=sys.stderr)
    peer = Peer(memory_format, adam == "foreach")
    print(json.dumps({"version": f"PyTorch {torch.__version__}"}), flush=True)
    for line in sys.stdin:
        _, batch, steps = line.split()
        print(peer.run(int(batch), int(steps)), flush=True)


if __name__ == "__main__":
    main()
