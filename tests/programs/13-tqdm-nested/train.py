from argparse import ArgumentParser
from random import random
from time import sleep

from tqdm import tqdm, trange


def loader(n, batch_size):
    for i in range(0, n, batch_size):
        yield min(batch_size, n - i)


ap = ArgumentParser()
ap.add_argument("--batch-size", type=int, required=True)
ap.add_argument("--epochs", type=int, default=25)
args = ap.parse_args()

n = 60000
for epoch in trange(args.epochs, desc="Epochs"):
    bar = tqdm(loader(n, args.batch_size), total=-(-n // args.batch_size), desc=f"Train {epoch}", leave=False)
    for size in bar:
        sleep(0.008 + 0.00008 * size)
        bar.set_postfix(loss=random(), acc=random())
