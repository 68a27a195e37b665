import argparse
import csv
import random
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args()


class Config:
    batch_size = 64
    lr = 1e-3
    epochs = 100
    rows = 48842


cfg = Config()
cfg.lr = args.lr
# TODO the other arguments

out = csv.writer(sys.stdout)
out.writerow(["epoch", "step", "train_loss", "lr", "elapsed"])
t0 = time.time()
step = 0
for epoch in range(cfg.epochs):
    for _ in range(cfg.rows // cfg.batch_size):
        time.sleep(0.004 + 0.0001 * cfg.batch_size)
        step += 1
        out.writerow([epoch, step, f"{random.random():.5f}", cfg.lr, f"{time.time() - t0:.3f}"])
        sys.stdout.flush()
