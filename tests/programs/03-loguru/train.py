#!/usr/bin/env python3
import argparse
import datetime
import math
import sys
import time

C = {"INFO": "\033[1m", "DEBUG": "\033[34m\033[1m", "SUCCESS": "\033[32m\033[1m", "WARNING": "\033[33m\033[1m"}


def logger(level, line, message):
    now = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    sys.stderr.write(
        f"\033[32m{now}\033[0m | {C[level]}{level: <8}\033[0m | \033[36m__main__\033[0m:\033[36mfit\033[0m:\033[36m{line}\033[0m - {C[level]}{message}\033[0m\n"
    )


def burn(seconds):
    """Stands where forward() and backward() were."""
    end = time.perf_counter() + seconds
    x = 0.1
    while time.perf_counter() < end:
        for _ in range(200):
            x = math.tanh(x * 1.7 + 0.01)
    return x


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bs", type=int, default=16)
    parser.add_argument("--max_steps", type=int, default=100000)
    opt = parser.parse_args()
    logger("DEBUG", 31, f"args = {opt}")
    logger("INFO", 34, "Model has 11,689,512 parameters (11,689,512 trainable), 44.59 MB")
    logger("WARNING", 35, "No GPU found, going on with 2 CPU threads")
    for step in range(1, opt.max_steps + 1):
        t = time.perf_counter()
        x = burn(0.005 + 0.001 * opt.bs)
        ms = (time.perf_counter() - t) * 1e3
        logger("INFO", 57, f"step {step} | loss {1 / math.sqrt(step) + x:.4f} | {ms:.1f} ms/step")
        if step % 1000 == 0:
            logger("SUCCESS", 61, f"checkpoint written to runs/exp17/ckpt_{step}.pt")


main()
