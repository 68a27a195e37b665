"""A program that takes three seconds to start: slow_start.py BATCH trains that one; without BATCH it is a session."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "clients" / "python"))
import sweetspot  # noqa: E402

START_UP_SECONDS, FIXED_SECONDS, SECONDS_PER_SAMPLE = 3, 0.004, 2e-5


def train(batch):
    sweetspot.begin()
    while True:
        time.sleep(FIXED_SECONDS + SECONDS_PER_SAMPLE * batch)
        if sweetspot.step(batch):
            return


time.sleep(START_UP_SECONDS)
for batch in [int(sys.argv[1])] if len(sys.argv) > 1 else sweetspot.batches():
    train(batch)
