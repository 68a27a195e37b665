import argparse
import random
import time

ap = argparse.ArgumentParser()
ap.add_argument("--micro-batch", type=int, default=4)
ap.add_argument("--grad-accum", type=int, default=1)
o = ap.parse_args()
step = micro = 0
print(f"effective batch: {o.micro_batch * o.grad_accum}")
while step < 20000:
    time.sleep(0.005 + 0.0009 * o.micro_batch)
    micro += 1
    if micro % o.grad_accum == 0:
        step += 1
    print(f"micro_step={micro} step={step} loss={random.random():.4f}", flush=True)
