#!/usr/bin/env python3
"""The same training as a session: one process trains batch after batch.

    sweetspot tune --batch-from-env -- gpu_session.py resnet18

With PIDS=FILE in the environment it writes its process id there at each start.
"""
import os
import sys

import torch

import gpu_models
import sweetspot

name = sys.argv[1]
gpu_models.cap_memory()
model = gpu_models.made(name)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
if "PIDS" in os.environ:
    with open(os.environ["PIDS"], "a") as file:
        file.write(f"{os.getpid()}\n")


def train(batch):
    inputs, answers = gpu_models.data(name, batch)
    while True:
        optimizer.zero_grad(set_to_none=True)
        gpu_models.loss_of(name, model, inputs, answers).backward()
        optimizer.step()
        yield batch


sweetspot.run(train)
