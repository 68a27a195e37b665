import argparse
import random
import time

from tqdm.auto import tqdm

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=2000)
args = parser.parse_args()

PATIENTS = 1100  # that is all there are


class Loader:
    def __init__(self, n, batch_size):
        self.n, self.batch_size = n, batch_size

    def __len__(self):
        return (self.n + self.batch_size - 1) // self.batch_size

    def __iter__(self):
        order = list(range(self.n))
        random.shuffle(order)
        for i in range(0, self.n, self.batch_size):
            yield order[i : i + self.batch_size]


loader = Loader(PATIENTS, args.batch_size)
for epoch in range(1, args.epochs + 1):
    for ids in tqdm(loader, desc=f"epoch {epoch}/{args.epochs}"):
        time.sleep(0.021 + 0.001 * len(ids))
    if epoch % 10 == 0:
        tqdm.write(f"epoch {epoch}: AUROC {random.uniform(.7, .8):.3f} (n=1100, 95% CI 0.68-0.83)")
