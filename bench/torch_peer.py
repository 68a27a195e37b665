#!/usr/bin/python3
"""PyTorch's side of the benchmark on a CPU: training steps of a network on request.

Arguments: THREADS contiguous|channels_last foreach|single|fused [MODEL]; paper-cnn by default.
Prints one line of JSON when ready, then answers each "run BATCH STEPS [LAYOUT ADAM [fp32|bf16]]" on stdin
with the seconds of that many full training steps, or with "failed: why". bf16 is PyTorch's autocast.
"""
import json
import sys
import time

import torch

import keras_network
import torch_network

INPUT_SETS = 4  # batches cycled through, as the other contestants do


class Peer:
    def __init__(self, network, layout, adam, precision="fp32"):
        torch.manual_seed(1000)
        self.network = network
        self.arrange = torch_network.channels_last if layout == "channels_last" else lambda x: x
        self.model = self.arrange(torch_network.build(network)).train()
        self.loss = torch_network.loss_of(network)
        how = {"fused": True} if adam == "fused" else {"foreach": adam == "foreach"}
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.001, **how)
        self.batches, self.rounds = {}, precision == "bf16"

    def data(self, batch):
        if batch not in self.batches:
            self.batches[batch] = [(self.arrange(torch_network.inputs(self.network, batch)),
                                    torch_network.answers(self.network, batch)) for _ in range(INPUT_SETS)]
        return self.batches[batch]

    def run(self, batch, steps):
        data = self.data(batch)
        start = time.perf_counter()
        for step in range(steps):
            inputs, answers = data[step % INPUT_SETS]
            self.optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=self.rounds):
                loss = self.loss(self.model(inputs), answers)
            loss.backward()
            self.optimizer.step()
        loss.item()
        return time.perf_counter() - start


def main():
    threads, *usual = sys.argv[1:4]
    network = keras_network.read(sys.argv[4] if len(sys.argv) > 4 else "paper-cnn")
    torch.set_num_threads(int(threads))
    if not torch.set_flush_denormal(True):
        print("this CPU cannot flush denormals", file=sys.stderr)
    peers = {}
    print(json.dumps({"version": f"PyTorch {torch.__version__}"}), flush=True)
    for line in sys.stdin:
        _, batch, steps, *asked = line.split()
        how = tuple(asked or usual)
        try:
            if how not in peers:
                peers[how] = Peer(network, *how)
            print(peers[how].run(int(batch), int(steps)), flush=True)
        except (RuntimeError, ValueError, keras_network.Unsupported) as error:  # one batch's failure
            print("failed:", str(error).splitlines()[0], flush=True)


if __name__ == "__main__":
    main()
