#!/usr/bin/env python3
"""What sweetspot is compared with: other batch size finders, and an exhaustive sweep.

    gpu_finders.py sweep|lightning-power|lightning-binsearch|accelerate MODEL

Prints one line of JSON: the answer, the seconds to find it and those before, the runs that ran
out of memory; for a sweep the samples per second of every batch.
"""
import time
STARTED = time.monotonic()
import gc
import json
import sys
import warnings

import torch

import gpu_models

DIED = 0
MOST = 1024


def counted(function):
    """Calls it, and counts when it runs out of memory."""
    global DIED
    try:
        return function()
    except torch.cuda.OutOfMemoryError:
        DIED += 1
        raise


def lightning(name, mode):
    import pytorch_lightning
    from pytorch_lightning.tuner import Tuner

    class Training(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.batch_size = gpu_models.made(name), 2

        def training_step(self, batch, _):
            return counted(lambda: gpu_models.loss_of(name, self.model, *batch))

        def backward(self, loss):
            counted(loss.backward)

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-4)

        def train_dataloader(self):
            return torch.utils.data.DataLoader(
                range(100000), batch_size=self.batch_size,
                collate_fn=lambda items: counted(lambda: gpu_models.data(name, len(items))))

    trainer = pytorch_lightning.Trainer(max_epochs=1, logger=False, enable_checkpointing=False,
                                        enable_progress_bar=False, enable_model_summary=False)
    model = Training()
    began = time.monotonic()
    return began, Tuner(trainer).scale_batch_size(model, mode=mode)


def accelerate(name):
    from accelerate.utils import find_executable_batch_size
    began = time.monotonic()

    @find_executable_batch_size(starting_batch_size=1024)
    def train(batch):
        def few_steps():
            step = gpu_models.training(name, batch)
            for _ in range(3):
                step()
        counted(few_steps)
        return batch

    return began, train()


def samples_per_second(name, model, optimizer, batch):
    """The median of eight steps, after three warm-up steps."""
    inputs, answers = gpu_models.data(name, batch)
    times = []
    for _ in range(11):
        began = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        gpu_models.loss_of(name, model, inputs, answers).backward()
        optimizer.step()
        gpu_models.wait()
        times.append(time.perf_counter() - began)
    return batch / sorted(times[3:])[4]


def sweep(name):
    """Every multiple of 16 (of 8 for transformers) up to MOST, or until memory runs out."""
    model = gpu_models.made(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    step = 16 if name == "resnet18" else 8
    speeds = {}
    for batch in range(step, MOST + 1, step):
        gc.collect()
        torch.cuda.empty_cache()
        try:
            speeds[batch] = samples_per_second(name, model, optimizer, batch)
        except torch.cuda.OutOfMemoryError:
            break
    return speeds


def main():
    way, name = sys.argv[1:]
    warnings.simplefilter("ignore")
    gpu_models.cap_memory()
    torch.zeros(1, device=gpu_models.DEVICE)
    if way == "sweep":
        print(json.dumps({"speeds": sweep(name), "seconds": time.monotonic() - STARTED}))
        return
    began, answer = accelerate(name) if way == "accelerate" else lightning(
        name, way.partition("-")[2])
    print(json.dumps({"answer": answer, "seconds": time.monotonic() - STARTED,
                      "beyond_start": time.monotonic() - began, "died": DIED}))


if __name__ == "__main__":
    main()
