import argparse
import random
import threading
import time

from tqdm import tqdm

ap = argparse.ArgumentParser()
ap.add_argument("--batch-size", type=int, default=256)
args = ap.parse_args()

prefetch = tqdm(total=20000, desc="prefetch shards", position=1, unit="shard")


def fetch():
    for _ in range(20000):
        time.sleep(0.02)
        prefetch.update()


threading.Thread(target=fetch, daemon=True).start()
train = tqdm(range(100_000_000 // args.batch_size), desc="train", position=0)
for _ in train:
    time.sleep(0.006 + 0.0001 * args.batch_size)
    train.set_postfix_str(f"nll {random.uniform(2, 3):.3f}", refresh=False)
