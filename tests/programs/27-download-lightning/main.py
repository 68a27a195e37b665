import logging
import random
import time
from argparse import ArgumentParser

from tqdm import tqdm

ap = ArgumentParser()
ap.add_argument("--data.batch_size", dest="batch_size", type=int, default=32)
ap.add_argument("--trainer.max_epochs", dest="max_epochs", type=int, default=100)
args = ap.parse_args()

# the cache folder is wiped by the job script, so this happens each time
print("Downloading https://download.pytorch.org/models/resnet18-f37072fd.pth to /tmp/hub/checkpoints/resnet18-f37072fd.pth")
with tqdm(total=46830571, unit="B", unit_scale=True, unit_divisor=1024) as bar:
    while bar.n < bar.total:
        time.sleep(0.02)
        bar.update(min(524288, bar.total - bar.n))
for _ in tqdm(range(300), desc="Extracting"):
    time.sleep(0.003)

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("pytorch_lightning")
log.info("GPU available: False, used: False")
log.info("TPU available: False, using: 0 TPU cores")
log.info("\n  | Name  | Type   | Params\n---------------------------------\n0 | model | ResNet | 11.2 M\n---------------------------------\n11.2 M    Trainable params\n0         Non-trainable params\n11.2 M    Total params\n44.727    Total estimated model params size (MB)")

FMT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}, {rate_fmt}{postfix}]"
for _ in tqdm(range(2), desc="Sanity Checking DataLoader 0", bar_format=FMT, leave=False):
    time.sleep(0.05)
n = -(-8000 // args.batch_size)
for epoch in range(args.max_epochs):
    bar = tqdm(range(n), desc=f"Epoch {epoch}", bar_format=FMT)
    for i in bar:
        time.sleep(0.005 + 0.002 * args.batch_size)
        bar.set_postfix(loss=random.random(), v_num=3, refresh=False)
    for _ in tqdm(range(20), desc="Validation DataLoader 0", bar_format=FMT, leave=False):
        time.sleep(0.02)
