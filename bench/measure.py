"""Interleaved rounds: contention affects every contestant alike."""
import collections
import math
import statistics
import sys

from contestants import cores

MEASURE_SECONDS = 0.25
SCREEN_SECONDS = 0.1
# PyTorch configurations that go on to the rounds for each batch, per thread count: contention
# during the screening slows several threads more than one, and must not eliminate PyTorch's best.
KEPT_OF_PEER = 2


def say(text):
    print(text, file=sys.stderr, flush=True)


def calibrate(child, batch):
    """Warms up, then returns seconds per step from a sufficiently long run."""
    child.seconds(batch, 1)
    steps = 1
    while (seconds := child.seconds(batch, steps)) < SCREEN_SECONDS / 2:
        steps = max(steps * 2, math.ceil(steps * SCREEN_SECONDS / max(seconds, 1e-6)))
    return seconds / steps


def screen(children, batches):
    """Per batch: the children worth measuring, with the steps of one measurement."""
    lineup = {}
    for batch in batches:
        say(f"screening {len(children)} contestants at batch {batch}")
        timed = sorted(((calibrate(child, batch), i, child) for i, child in enumerate(children)))
        kept, of_threads = [], collections.Counter()
        for seconds, _, child in timed:
            if child.contestant.side == "torch":
                of_threads[child.contestant.threads] += 1
                if of_threads[child.contestant.threads] > KEPT_OF_PEER:
                    continue
            kept.append((child, max(1, math.ceil(MEASURE_SECONDS / seconds))))
        lineup[batch] = kept
    return lineup


class Samples:
    """Samples per second by (batch, contestant), one figure per round, and the machine's own by batch."""

    def __init__(self):
        self.speeds, self.probes = {}, {}

    def round(self, lineup, limits, turn):
        for batch, entries in lineup.items():
            shift = turn % len(entries)  # rotate who runs first
            self.probes.setdefault(batch, []).append(probe(limits))
            for child, steps in entries[shift:] + entries[:shift]:
                child.seconds(batch, max(1, steps // 10))  # bring its data back into the caches
                speed = batch * steps / child.seconds(batch, steps)
                self.speeds.setdefault((batch, child.contestant), []).append(speed)
            self.probes[batch].append(probe(limits))

    def contended(self, batch, peak_gflops):
        """Share of the probes around this batch that reached less than 85% of the machine's peak."""
        return statistics.mean(p < 0.85 * peak_gflops for p in self.probes[batch])

    def of(self, batch, side):
        """(contestant, speeds) of one side at a batch, best median first."""
        found = [(c, s) for (b, c), s in self.speeds.items() if b == batch and c.side == side]
        return sorted(found, key=lambda entry: -statistics.median(entry[1]))


def probe(limits):
    return float(limits.ask(f"probe {cores()}"))
