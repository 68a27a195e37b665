"""The contestants for a network of the suite on the CPU, and their interleaving; suite_gpu.py is for a GPU.

A contestant that fails at a network and batch is dropped there, is shown with its reason, and runs
again at the next.
"""
import math
import statistics
import time

import contestants
import suite_report
from contestants import Child, Contestant, Ended, Failed
from measure import say

MEASURE_SECONDS = 0.1  # per block
SCREEN_SECONDS = 0.04  # per configuration of PyTorch
SCREENED = {16: 99, 128: 6}  # configurations of PyTorch tried at a batch; other batches use the best of them
KEPT = 2
LEAST_TELLING_BATCH = 16


class Absent(Exception):
    """Sweetspot itself cannot train this network."""


class Entry:
    """One way to train: a process, and the form of its requests."""

    def __init__(self, label, child, question):
        self.label, self.child, self.question = label, child, question

    def seconds(self, batch, steps):
        return float(self.child.ask(self.question.format(batch=batch, steps=steps)))


def seconds_a_step(entry, batch, least):
    """Warms up, then times runs of growing length until one is long enough."""
    entry.seconds(batch, 1)
    steps = 1
    while (seconds := entry.seconds(batch, steps)) < least / 2:
        steps = math.ceil(max(steps * 2, steps * least / max(seconds, 1e-6)))
    return seconds / steps


class Lineup:
    def __init__(self, asked):
        self.asked, self.ours, self.torch, self.failed = asked, None, [], {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def child(self, contestant):
        return Child(contestant, self.asked.patience, keep_errors=True)

    def start_ours(self, command, question):
        """Sweetspot's own process for the network."""
        if self.ours:
            self.ours.child.close()
        self.ours = None
        try:
            self.ours = Entry("sweetspot", self.child(Contestant("sweetspot", "sweetspot", contestants.cores(), command)),
                              question)
        except Ended as why:
            raise Absent(str(why)) from None

    def attempt(self, entry, action):
        """The action's result, or None if the contestant fails, which is recorded."""
        try:
            return action()
        except (Failed, Ended, ValueError) as why:
            self.failed[entry.label] = str(why)
            return None

    def needed_bytes(self, batch, peers):
        """Of sweetspot, as planned, and of this many peers: outputs of all layers with their gradients,
        weights with theirs and Adam's moments, and the inputs they cycle through."""
        ours = float(self.ours.child.ask(f"memory {batch} 0"))
        values = batch * (2 * self.network.activations() + 4 * math.prod(self.network.input))
        return ours + peers * 4 * (values + 4 * self.network.parameters())

    def rounds(self, entries, batch, share):
        """Speeds of each entry, one per round, as many rounds as the share of the budget allows."""
        start, speeds, steps, lengths = time.monotonic(), {}, {}, {}
        for entry in (e for e in entries if e.label not in self.failed):
            one = self.attempt(entry, lambda: seconds_a_step(entry, batch, MEASURE_SECONDS))
            if one:
                steps[entry] = math.ceil(max(1, MEASURE_SECONDS / one))
                lengths[entry] = one * steps[entry]
                if one > MEASURE_SECONDS:  # a block would be one step, which has already been timed
                    speeds[entry.label] = [batch / one]
        for turn in range(self.asked.rounds):
            timed = all(e.label in speeds for e in steps)
            if timed and time.monotonic() - start + sum(lengths.values()) > share:
                break
            shift = turn % max(1, len(steps))  # rotate who runs first
            order = [e for e in steps if e.label not in self.failed]
            for entry in order[shift:] + order[:shift]:
                def block(entry=entry):
                    if lengths[entry] <= MEASURE_SECONDS * 2:
                        entry.seconds(batch, max(1, steps[entry] // 10))  # bring its data back into the caches
                    return batch * steps[entry] / entry.seconds(batch, steps[entry])
                if speed := self.attempt(entry, block):
                    speeds.setdefault(entry.label, []).append(speed)
        return speeds

    def measure(self, batch, share):
        """A row of the table."""
        self.failed = {}
        start = time.monotonic()
        try:
            if self.ours.child.process.poll() is not None:
                self.load(self.network, self.path)
            fit = [n for n in (KEPT, 1) if self.needed_bytes(batch, n) <= self.asked.memory]
        except (Failed, Ended, Absent) as why:
            return {"failed": {"sweetspot": str(why)}}
        if not fit:
            need = self.needed_bytes(batch, 1) / 2**30
            return {"skipped": f"would need {need:.0f} GiB"}
        if late := self.too_late(batch, share):
            return {"skipped": late}
        peers = self.peers(batch, fit[0])
        speeds = self.rounds([self.ours, *peers], batch, share - (time.monotonic() - start))
        row = suite_report.rated({"speeds": speeds, "failed": self.failed})
        if "sweetspot" in row:
            self.last = batch, batch / max(map(statistics.median, speeds.values()))
        return row

    def too_late(self, batch, share):
        """Whether one round would take several times its share, judged by the steps of the previous batch: with more
        than a few samples, since the fixed cost of a step does not grow with the batch."""
        before, seconds = self.last or (0, 0)
        if before < LEAST_TELLING_BATCH:
            return None
        expected = 3 * seconds * batch / before  # a warm-up, a calibration and a block for each
        return f"a step would take about {expected / 3:.0f} s" if expected * (1 + KEPT) > 4 * share else None

    def speeds(self, batches, share):
        """Rows of sweetspot alone at all batches, interleaved."""
        self.failed, found, skipped, steps = {}, {}, {}, {}
        start = time.monotonic()
        planned = 0.0
        for batch in batches:
            def first(batch=batch):
                return seconds_a_step(self.ours, batch, MEASURE_SECONDS)
            try:
                planned += self.needed_bytes(batch, 0)  # they stay open side by side
            except (Failed, Ended) as why:
                return [{"failed": {"sweetspot": str(why)}}]
            if planned > self.asked.memory:
                skipped[batch] = "memory"
                continue
            one = self.attempt(self.ours, first)
            if not one:
                break
            steps[batch] = math.ceil(max(1, MEASURE_SECONDS / one))
        for turn in range(self.asked.rounds):
            shift = turn % max(1, len(steps))
            order = list(steps)
            for batch in order[shift:] + order[:shift]:
                def block(batch=batch):
                    self.ours.seconds(batch, max(1, steps[batch] // 10))
                    return batch * steps[batch] / self.ours.seconds(batch, steps[batch])
                if speed := self.attempt(self.ours, block):
                    found.setdefault(batch, []).append(speed)
            if self.failed or (time.monotonic() - start) * (turn + 2) / (turn + 1) > share:
                break
        return ([{"batch": b, "speeds": {"sweetspot": v}, "sweetspot": statistics.median(v)} for b, v in found.items()]
                + [{"batch": b, "skipped": why} for b, why in skipped.items()]
                + ([{"failed": self.failed}] if self.failed else []))

    def load(self, network, path):
        self.close()
        self.network, self.path, self.last = network, path, None
        self.start_ours((str(self.asked.build / "bench" / "bench_cpu_step"), str(contestants.cores()), str(path)),
                        "run {batch} {steps}")
        self.torch = []
        if not self.asked.monotone:
            workers = contestants.torch_contestants(("contiguous",), ("single",), path)
            children = [Child(worker, self.asked.patience, wait=False, keep_errors=True) for worker in workers]
            for worker, child in zip(workers, children):
                try:
                    child.ready()
                except Ended as why:
                    say(str(why))
                    continue
                kind = worker.label.replace(", contiguous, Adam single", "")
                self.torch += [Entry(f"{kind}, {layout}, Adam {adam}", child, f"run {{batch}} {{steps}} {layout} {adam}")
                               for layout in self.layouts() for adam in contestants.adams_of(child.version)]
        self.ranked, self.screened_at = list(self.torch), 0

    def layouts(self):
        """Channels last exists only for images."""
        return contestants.LAYOUTS if len(self.network.input) == 3 else contestants.LAYOUTS[:1]

    def peers(self, batch, count):
        """PyTorch's best configurations at the nearest screened batch, once per network."""
        for at, kept in SCREENED.items():
            if self.screened_at < at <= max(batch, min(SCREENED)):
                self.ranked, self.screened_at = self.screen(self.ranked[:kept], at), at
        able = [e for e in self.ranked if e.label not in self.failed]
        chosen = able[:count]
        # Contention slows several threads more than one, and must not eliminate PyTorch's best.
        threads = {e.child.contestant.threads for e in chosen}
        if count == KEPT and len(threads) == 1:
            chosen += [e for e in able if e.child.contestant.threads not in threads][:1]
        if batch > max(SCREENED):
            for child in {e.child for e in self.torch} - {e.child for e in chosen}:
                child.close()
            self.torch = [e for e in self.torch if e in chosen]
        return chosen

    def screen(self, entries, batch):
        say(f"  screening {len(entries)} configurations of PyTorch at batch {batch}")
        timed = {e: self.attempt(e, lambda: seconds_a_step(e, batch, SCREEN_SECONDS)) for e in entries}
        return sorted(timed, key=lambda e: timed[e] or math.inf)  # one that fails here may work at another batch

    def close(self):
        for child in {e.child for e in self.torch} | ({self.ours.child} if self.ours else set()):
            child.close()
        self.ours, self.torch = None, []
