import argparse
import random
import sys
import time

ap = argparse.ArgumentParser()
ap.add_argument("--model_name_or_path", default="bert-base-uncased")
ap.add_argument("--task_name", default="rte")
ap.add_argument("--per_device_train_batch_size", type=int, default=8)
ap.add_argument("--num_train_epochs", type=float, default=200)
ap.add_argument("--logging_steps", type=int, default=10)
ap.add_argument("--disable_tqdm", default="False")
a = ap.parse_args()

err = sys.stderr
err.write(
    "Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert-base-uncased "
    "and are newly initialized: ['classifier.bias', 'classifier.weight']\n"
    "You should probably TRAIN this model on a down-stream task to be able to use it for predictions and inference.\n"
    "/usr/lib/python3/dist-packages/transformers/optimization.py:411: FutureWarning: This implementation of AdamW is deprecated\n"
    "  warnings.warn(\n"
)
N = 2490
B = a.per_device_train_batch_size
per_epoch = -(-N // B)
total = int(per_epoch * a.num_train_epochs)
err.write(
    f"***** Running training *****\n  Num examples = {N}\n  Num Epochs = {int(a.num_train_epochs)}\n"
    f"  Instantaneous batch size per device = {B}\n  Total train batch size (w. parallel, distributed & accumulation) = {B}\n"
    f"  Gradient Accumulation steps = 1\n  Total optimization steps = {total}\n  Number of trainable parameters = 109483778\n"
)
err.flush()
for step in range(1, total + 1):
    time.sleep(0.003 + 0.0003 * B)
    if step % a.logging_steps == 0:
        print({"loss": round(0.69 * 0.999**step + random.gauss(0, 0.01), 4), "learning_rate": 2e-5 * (1 - step / total), "epoch": round(step / per_epoch, 2)}, flush=True)
