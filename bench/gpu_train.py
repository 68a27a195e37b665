#!/usr/bin/env python3
"""A typical training script: a tqdm bar and an argument for the batch.

    gpu_train.py --model resnet18 --batch-size 64
"""
import argparse

from tqdm import tqdm

import gpu_models

parser = argparse.ArgumentParser()
parser.add_argument("--model", choices=gpu_models.NAMES, default="resnet18")
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--steps", type=int, default=1000)
asked = parser.parse_args()
gpu_models.cap_memory()
step = gpu_models.training(asked.model, asked.batch_size)
bar = tqdm(range(asked.steps))
for _ in bar:
    bar.set_postfix(loss=f"{step():.3f}")
