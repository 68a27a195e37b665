from argparse import ArgumentParser
from random import random
from time import sleep, time

ap = ArgumentParser()
ap.add_argument("--bs", type=int, default=64)
bs = ap.parse_args().bs

print("epoch     train_loss  valid_loss  accuracy  time    ", flush=True)
for epoch in range(400):
    t = time()
    for _ in range(max(1, 256 // bs)):
        sleep(0.009 + 0.0003 * bs)
    dt = int(time() - t)
    print(f"{epoch:<10}{random():<12.6f}{random():<12.6f}{random():<10.6f}{dt // 60:02d}:{dt % 60:02d}   ", flush=True)
