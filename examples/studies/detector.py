"""Stands for a detector on an accelerator: images are decoded on the CPU, by this process or by
workers, and the accelerator takes 4 ms a batch and 0.1 ms an image whatever the CPU does.

With sweetspot's client on the PYTHONPATH it tells how long each step waits for its images; without
it, it trains the same."""
import argparse
import multiprocessing
import time
import zlib

try:
    import sweetspot
except ImportError:
    sweetspot = None

PIXELS = 200 * 200 * 3
FILE = zlib.compress(bytes((3 * i * i + i // 7) % 251 for i in range(PIXELS)), 1)
READ_SECONDS = 0.002  # a network drive


def load(_):
    time.sleep(READ_SECONDS)
    return len(zlib.decompress(FILE))


def batches(size, workers):
    if workers == 0:
        while True:
            yield [load(i) for i in range(size)]
    with multiprocessing.Pool(workers) as pool:
        images = pool.imap(load, iter(int, 1), chunksize=4)
        while True:
            yield [next(images) for _ in range(size)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100000)
    args = parser.parse_args()
    loader = batches(args.batch, args.workers)
    if sweetspot:
        loader = sweetspot.data(loader)
    for step, images in enumerate(loader, 1):
        time.sleep(0.004 + 0.0001 * len(images))
        if sweetspot:
            sweetspot.step(len(images))
        if step == args.steps:
            break


if __name__ == "__main__":
    main()
