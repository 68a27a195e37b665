"""How the contestants of the suite share a GPU: many prepare at a time, and none does while others are timed.

Preparing a network, precision and batch (a *cell*) takes PyTorch five seconds and JAX up to thirty, most of it on the
CPU; timing it takes a third of a second. So each way to train has several processes, which prepare cells and keep them.
When enough cells are ready in all of them, nothing new is started until the last one has finished; then the contestants
of each cell alternate in short blocks on an otherwise idle GPU.
"""
import collections
import dataclasses
import math
import os
import pathlib
import random
import selectors
import signal
import sys
import time

import contestants
import keras_network
import suite_report
from contestants import Child, Contestant, Ended, Failed

PROCESS_OF = {"sweetspot": "sweetspot", "eager": "graph", "graph": "graph", "compile": "compile", "jax": "jax"}
WORKERS = {"sweetspot": 2, "graph": 5, "compile": 10, "jax": 10}  # on 16 cores; fewer on fewer
WORKERS_ALONE = 16  # of the only kind that takes long
HELD = {"sweetspot": 60, "graph": 12, "compile": 12, "jax": 12}  # cells that a process may keep ready
ENOUGH = 64  # cells that are timed together
LAST_SECONDS = 15  # before the end, no peer is started
CELL_SECONDS = 0.4  # to time a cell, for the budget
BLOCK_SECONDS = 0.015
STEPS_AT_ONCE = 20  # of sweetspot's graphs, and of JAX' scans at small batches
BEATEN = 0.6  # of the best peer's speed: a slower one gets only one block


@dataclasses.dataclass(frozen=True)
class Cell:
    network: str
    path: pathlib.Path
    precision: str
    batch: int
    ways: tuple
    bytes: int  # per contestant, roughly

    def question(self, what, steps):
        return f"{what} {self.precision} {self.batch} {steps} {self.path}"

    def row(self):
        return {"network": self.network, "precision": self.precision, "batch": self.batch}


class Worker:
    """A process of one kind, the cell it prepares and those it has ready."""

    def __init__(self, kind, command, patience):
        self.kind, self.held, self.cell = kind, set(), None
        self.seconds_of = {}  # to prepare each cell that it has ready
        self.child = Child(Contestant("peer", kind, contestants.cores(), command), patience, wait=False,
                           keep_errors=True, own_group=True)
        self.since, self.starting = time.monotonic(), True

    def busy(self):
        return self.starting or self.cell is not None

    def prepare(self):
        self.since = time.monotonic()
        how = " eager" if self.kind == "graph" and "eager" in self.cell.ways else ""
        self.child.say(self.cell.question("run", 1) + how)

    def seconds(self, cell, way, steps):
        how = f" {way}" if self.kind == "graph" else ""
        return float(self.child.ask(cell.question("run", steps) + how))

    def forget(self, cell):
        self.held.discard(cell)
        self.child.ask(cell.question("forget", 0))

    def end(self):
        try:
            os.killpg(self.child.process.pid, signal.SIGKILL)  # and the processes it started
        except ProcessLookupError:
            pass  # it has ended
        self.child.process.wait()
        for file in (self.child.process.stdin, self.child.process.stdout, self.child.errors):
            file.close()


def cells_of(asked, networks):
    """Cells in a random order, the same each time, so that what a budget reaches is an unbiased sample (a comparison
    of batches needs whole networks instead); and rows of what cannot be trained."""
    cells, refused = [], []
    for name, path in networks:
        try:
            network = keras_network.read(path)
        except keras_network.Unsupported as why:
            refused.append({"network": name, "skipped": str(why)})
            continue
        ways = ["sweetspot", *asked.peers]
        if "compile" in ways and asked.compiled is not None and name not in asked.compiled:
            ways.remove("compile")
        for precision in asked.precisions:
            for batch in asked.batches:
                # Outputs of all layers with their gradients, weights with theirs and Adam's
                # moments, and inputs.
                values = batch * (3 * network.activations() + 4 * math.prod(network.input)) + 4 * network.parameters()
                cells.append(Cell(name, path.resolve(), precision, batch, tuple(ways), 4 * values))
    if not asked.monotone:
        random.Random(1).shuffle(cells)
    return cells, refused


def sampled(cells, count):
    """So many of the cells, the same each time: every network as often as the others, and so every precision and batch."""
    at = {(cell.network, cell.precision, cell.batch): cell for cell in cells}
    kinds = sorted({(cell.precision, cell.batch) for cell in cells})
    names = sorted({cell.network for cell in cells})
    chance, drawn, waiting, deck = random.Random(1), [], [], []
    while len(drawn) < min(count, len(cells)):
        waiting = waiting or chance.sample(names, len(names))
        name = waiting.pop()
        if all((name, *kind) not in at for kind in deck):
            deck += chance.sample(kinds, len(kinds))
        kind = next(kind for kind in deck if (name, *kind) in at)
        deck.remove(kind)
        drawn.append(at.pop((name, *kind)))
    return drawn


def without(cells, rows):
    """The cells for which some way to train has neither a speed nor a failure in these rows."""
    tried = {(row["network"], row["precision"], row["batch"]): {*row.get("speeds", {}), *row.get("failed", {})}
             for row in rows if "batch" in row}
    return [cell for cell in cells
            if not set(cell.ways) <= tried.get((cell.network, cell.precision, cell.batch), set())]


class Tournament:
    def __init__(self, asked, cells, emit):
        self.asked, self.emit = asked, emit
        self.end = time.monotonic() + asked.budget
        self.cells, self.started = cells, {}  # {cell: {kind: worker or why it failed}}, in the cells' order
        self.queues = {}
        for kind in {PROCESS_OF[way] for cell in cells for way in cell.ways}:
            self.queues[kind] = collections.deque(c for c in cells if kind in {PROCESS_OF[w] for w in c.ways})
        self.workers, self.deaths = [], collections.Counter()

    def command(self, kind):
        if kind == "sweetspot":
            return (str(self.asked.build / "bench" / "bench_gpu_step"),)
        return (sys.executable, "-B", str(contestants.HERE / "gpu_peers.py"), kind)

    def others(self, kind):
        """Whether another kind of process takes long to prepare."""
        return bool(set(self.queues) - {kind, "sweetspot"})

    def start_workers(self):
        for kind, queue in self.queues.items():
            most = WORKERS[kind] if self.others(kind) else WORKERS_ALONE
            share = max(1, round(most * contestants.cores() / 16))
            while queue and self.deaths[kind] < 3 * share and sum(w.kind == kind for w in self.workers) < share:
                self.workers.append(Worker(kind, self.command(kind), self.asked.patience))

    def room_for(self, cell):
        """Whether another contestant of the cell fits on the GPU next to the present ones."""
        taken = sum(c.bytes for w in self.workers for c in [*w.held, *([w.cell] if w.cell else [])])
        return taken == 0 or taken + cell.bytes <= self.asked.memory

    def next_cell(self, kind):
        """Sweetspot prepares in a moment, so it waits for the peers: cells far ahead of theirs would take the memory
        that these need."""
        if kind != "sweetspot":
            return next(iter(self.queues[kind]), None)
        return next((cell for cell in self.queues[kind]
                     if len(self.started.get(cell, {})) == len({PROCESS_OF[way] for way in cell.ways}) - 1), None)

    def hand_out(self, kinds):
        free = [w for w in self.workers if w.kind in kinds and not w.busy() and len(w.held) < HELD[w.kind]]
        # The one furthest behind goes first, and continues regardless of memory if there is nothing
        # else to do.
        for worker in sorted(free, key=lambda w: -len(self.queues[w.kind])):
            cell = self.next_cell(worker.kind)
            alone = not any(w.busy() for w in self.workers) and not self.ready()
            if cell and (alone or self.room_for(cell)):
                self.queues[worker.kind].remove(cell)
                worker.cell = cell
                try:
                    worker.prepare()
                except Ended as why:
                    self.bury(worker, str(why))

    def settle(self, cell, kind, outcome):
        self.started.setdefault(cell, {})[kind] = outcome

    def bury(self, worker, why):
        """A process has ended: what it was preparing failed, and what it had ready is prepared again."""
        self.deaths[worker.kind] += 1
        worker.end()
        self.workers.remove(worker)
        if worker.cell:
            self.settle(worker.cell, worker.kind, why)
        for cell in worker.held:
            self.started[cell].pop(worker.kind, None)
            self.queues[worker.kind].appendleft(cell)

    def hear(self, worker):
        try:
            if worker.starting:
                worker.child.ready()
                worker.starting = False
                return
            outcome = worker
            try:
                worker.child.answer()
                worker.held.add(worker.cell)
                worker.seconds_of[worker.cell] = time.monotonic() - worker.since
                self.deaths[worker.kind] = 0
            except Failed as why:
                outcome = str(why)
            self.settle(worker.cell, worker.kind, outcome)
            worker.cell = None
        except (Ended, ValueError) as why:
            self.bury(worker, str(why))

    def wait(self, seconds):
        """Until one answers or times out, or the seconds are over."""
        busy = [w for w in self.workers if w.busy()]
        with selectors.DefaultSelector() as chooser:
            for worker in busy:
                chooser.register(worker.child.process.stdout, selectors.EVENT_READ, worker)
            heard = [key.data for key, _ in chooser.select(max(0.0, min(5.0, seconds)))]
        for worker in heard:
            self.hear(worker)
        for worker in busy:
            if worker not in heard and time.monotonic() - worker.since > self.asked.patience:
                self.bury(worker, f"no answer within {self.asked.patience:.0f} s")

    def ready(self):
        return [cell for cell, kinds in self.started.items()
                if len(kinds) == len({PROCESS_OF[w] for w in cell.ways})]

    def run(self):
        left = set(self.cells)
        try:
            while left and time.monotonic() < self.end:
                self.prepare_some()
                for cell in self.ready():
                    if time.monotonic() < self.end:
                        self.emit(self.measure(cell))
                        left.discard(cell)
        finally:
            for worker in self.workers:
                worker.end()
        for cell in sorted(left, key=self.cells.index):
            self.emit(cell.row() | {"skipped": "the budget was over"})

    def prepare_some(self):
        """Until enough cells are ready and none is being prepared, or it is time to measure."""
        while True:
            count = len(self.ready())
            left = self.end - time.monotonic() - CELL_SECONDS * count
            if count < ENOUGH and left > LAST_SECONDS:
                self.start_workers()
                self.hand_out(self.queues)
            elif self.others("sweetspot"):
                self.hand_out(["sweetspot"])  # for what its peers have finished
            busy = [w for w in self.workers if w.busy()]
            if left <= 0:
                for worker in busy:
                    worker.cell = None  # it did not fail
                    self.bury(worker, "")
                return
            if busy:
                self.wait(left)
            elif not self.give_up():
                return

    def give_up(self):
        """Whether all processes of some kind have ended: then one of its cells is settled."""
        given_up = False
        for kind, queue in self.queues.items():
            if queue and not any(w.kind == kind for w in self.workers):
                self.settle(queue.popleft(), kind, f"the processes of {kind} end")
                given_up = True
        return given_up

    def measure(self, cell):
        """A row of the table."""
        row = cell.row() | {"failed": {}, "speeds": {}, "prepared": {}}  # in seconds
        kinds, entries = self.started.pop(cell), {}
        for way in cell.ways:
            outcome = kinds[PROCESS_OF[way]]
            if isinstance(outcome, str):
                row["failed"][way] = outcome
            else:
                entries[way] = outcome
                row["prepared"][way] = round(outcome.seconds_of[cell], 1)
        self.rounds(cell, entries, row)
        for worker in set(entries.values()):
            try:
                worker.forget(cell)
            except (Failed, Ended) as why:
                self.bury(worker, str(why))
        return suite_report.rated(row)

    def rounds(self, cell, entries, row):
        steps = {way: self.block_of(cell, way, worker, row) for way, worker in entries.items()}
        for turn in range(self.asked.rounds):
            order = [way for way in entries if way not in row["failed"] and self.competes(way, row)]
            shift = turn % max(1, len(order))  # rotate who runs first
            for way in order[shift:] + order[:shift]:
                seconds = self.attempt(cell, way, entries[way], steps[way], row)
                if seconds:
                    row["speeds"].setdefault(way, []).append(cell.batch * steps[way] / seconds)

    def block_of(self, cell, way, worker, row):
        """Steps per block. The first run warms up, the second measures the step time, and a whole block prepares what
        only it needs: sweetspot's graph of many steps."""
        at_once = STEPS_AT_ONCE if cell.batch <= 256 else 4
        if not self.attempt(cell, way, worker, at_once, row):
            return None
        seconds = self.attempt(cell, way, worker, at_once, row)
        if not seconds:
            return None
        steps = at_once * math.ceil(min(50, max(1, BLOCK_SECONDS / seconds)))
        return steps if steps == at_once or self.attempt(cell, way, worker, steps, row) else None

    def attempt(self, cell, way, worker, steps, row):
        try:
            return worker.seconds(cell, way, steps)
        except (Failed, Ended, ValueError) as why:
            row["failed"][way] = str(why)
            return None

    def competes(self, way, row):
        speeds = row["speeds"]
        if way not in speeds or way == "sweetspot":
            return True
        best = max(values[0] for other, values in speeds.items() if other != "sweetspot")
        return speeds[way][0] >= BEATEN * best
