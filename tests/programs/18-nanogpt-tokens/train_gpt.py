import argparse
import math
import time

import torch
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("-B", type=int, default=8, help="micro batch size")
p.add_argument("-T", type=int, default=256, help="sequence length")
args = p.parse_args()
B, T = args.B, args.T

torch.manual_seed(1337)
torch.set_num_threads(1)
print("using device: cpu")
print("total desired batch size: %d" % (B * T))
print("=> calculated gradient accumulation steps: 1")
print("loaded 338025 tokens")
print(f"1 epoch = {338025 // (B * T)} batches")
head = nn.Linear(16, 16)
opt = torch.optim.AdamW(head.parameters(), lr=6e-4)
print("num decayed parameter tensors: 50, with 124,354,560 parameters")
print("num non-decayed parameter tensors: 98, with 121,344 parameters")
print("using fused AdamW: False")

tokens = 0
for step in range(19073):
    t0 = time.time()
    lr = 6e-4 * min(1, (step + 1) / 715)
    x = torch.randn(4, 16)
    loss = (head(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.0095 + 0.001 * B)  # the real model is not in this repository
    dt = time.time() - t0
    tokens += B * T
    print(f"step {step:5d} | loss: {loss.item() + 10:.6f} | lr {lr:.4e} | norm: {math.exp(-step / 1e4):.4f} | dt: {dt * 1000:.2f}ms | tok/sec: {B * T / dt:,.2f} | total: {tokens:,}")
