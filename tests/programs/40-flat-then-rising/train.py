import argparse
import time

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
batch = parser.parse_args().batch_size
step = 0
while True:
    time.sleep(max(0.010, 40e-6 * batch))
    step += 1
    print(f"step {step} loss {1 / step:.5f}", flush=True)
