#!/usr/bin/env python3
"""NVML's figures for programs next to PyTorch's own peak: gpu_memory.py SWEETSPOT [BATCH ...].

Needs a GPU and PyTorch. Each batch is an unmodified program that records its own peak at its end; the
context is NVML's excess over PyTorch at the smallest batch. Then two ranks that share one GPU
run under torchrun, alone and while another process holds 3 GiB there."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TRAIN = """
import os, signal, sys, time
import torch

rank, batch = os.environ.get("RANK", "0"), int(sys.argv[1])
held = {}
def note(*_):
    with open(os.path.join(sys.argv[2], "%d.%s" % (batch, rank)), "w") as out:
        out.write(str(held.get("peak", 0)))
    os._exit(0)
signal.signal(signal.SIGTERM, note)
torch.manual_seed(1)
torch.backends.cudnn.benchmark = False
model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.ReLU(),
    torch.nn.Conv2d(64, 64, 3, padding=1), torch.nn.ReLU(),
    torch.nn.AdaptiveAvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(4096, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(batch, 3, 128, 128, device="cuda")
for step in range(1, 1000000):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    held["peak"] = torch.cuda.max_memory_reserved()
    if rank == "0":
        print("step %d/1000000" % step, flush=True)
"""
OTHER = ("import torch, time; held = torch.zeros(3 << 30, dtype=torch.uint8, device='cuda'); "
         "print('held', flush=True); time.sleep(1000)")
MIB = 2 ** 20


def sweep(sweetspot, folder, batches, *command):
    done = subprocess.run(
        [sweetspot, "sweep", "--json", "--fresh", "--batch", ",".join(map(str, batches)), "--",
         *command, "train.py", "{batch}", str(folder)], cwd=folder, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["trials"]


def own_peaks(folder, batch):
    """Of each rank; deleted after reading, because the next run writes its own."""
    files = sorted(Path(folder).glob("%d.*" % batch))
    peaks = [int(file.read_text()) for file in files]
    for file in files:
        file.unlink()
    return peaks


def compare(sweetspot, folder, batches):
    trials = {trial["setting"]["batch"]: trial
              for trial in sweep(sweetspot, folder, batches, sys.executable)}
    rows = [(batch, trials[batch]["memory_bytes"]["measured"], own_peaks(folder, batch)[0])
            for batch in batches]
    context = rows[0][1] - rows[0][2]
    print("context (NVML less PyTorch at batch %d): %d MiB; %s on %s" % (
        rows[0][0], context / MIB, trials[batches[0]]["memory_bytes"]["source"],
        trials[batches[0]]["gpus"][0]["name"]))
    print("| batch | NVML less context, MiB | PyTorch's peak, MiB | apart |")
    print("|---:|---:|---:|---:|")
    worst = 0
    for batch, nvml, torch_peak in rows:
        apart = (nvml - context) / torch_peak - 1
        worst = max(worst, abs(apart))
        print("| %d | %.0f | %.0f | %+.2f%% |" % (batch, (nvml - context) / MIB, torch_peak / MIB,
                                                  100 * apart))
    print("furthest apart: %.2f%%" % (100 * worst))
    print("readings of the last: %s" % json.dumps(trials[batches[-1]]["gpus"]))


def shared(sweetspot, folder, batch):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node",
                "{gpus}"]
    for other in (False, True):
        beside = None
        if other:
            beside = subprocess.Popen([sys.executable, "-c", OTHER], stdout=subprocess.PIPE)
            beside.stdout.readline()
        done = subprocess.run(
            [sweetspot, "sweep", "--json", "--fresh", "--batch", str(2 * batch), "--gpus", "2",
             "--batch-is", "per-gpu", "--", *torchrun, "train.py", "{batch}", str(folder)],
            cwd=folder, stdout=subprocess.PIPE)
        if beside:
            beside.kill()
            beside.wait()
        trial, = json.loads(done.stdout)["trials"]
        own = own_peaks(folder, batch)
        print("two ranks of batch %d on one GPU%s: %s, %.0f MiB by %s; PyTorch's peaks %s MiB; "
              "others held %s MiB" % (
                  batch, " beside a process with 3 GiB" if other else "", trial["outcome"],
                  (trial["memory_bytes"]["measured"] or 0) / MIB, trial["memory_bytes"]["source"],
                  [peak // MIB for peak in own],
                  (trial["contention"]["other_gpu_memory_bytes"] or 0) // MIB))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = os.path.abspath(sys.argv[1])
    sizes = [int(word) for word in sys.argv[2:]] or [8, 16, 24, 32, 48, 64, 96, 128, 192, 256]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "train.py").write_text(TRAIN)
        compare(program, place, sizes)
        shared(program, place, 64)
