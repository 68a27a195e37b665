#!/usr/bin/python3
"""How the suite's contestants share a GPU, with fake contestants."""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import suite_gpu
import suite_report

# Answers like gpu_peers.py. Logs when it prepared and when it was timed; FATAL is a batch that ends
# it.
CONTESTANT = r"""
import json, os, sys, time
kind, journal, speed = sys.argv[1], sys.argv[2], float(sys.argv[3])
fatal = os.environ.get("FATAL_" + kind, "").split(",")
print(json.dumps({"version": kind}), flush=True)
ready = set()
for line in sys.stdin:
    what, precision, batch, steps, model, *_ = line.split()
    key = model, precision, batch
    if what == "forget":
        ready.discard(key)
        print("forgotten", flush=True)
        continue
    if batch in fatal:
        sys.exit("out of memory")
    begin, prepares = time.monotonic(), key not in ready
    ready.add(key)
    time.sleep(0.05 if prepares else 0.001)
    with open(journal, "a") as file:
        file.write(json.dumps([kind, prepares, begin, time.monotonic()]) + "\n")
    print(int(steps) / speed, flush=True)
"""
SPEEDS = {"sweetspot": 300, "graph": 100, "jax": 150}


class Fakes(suite_gpu.Tournament):
    def command(self, kind):
        return sys.executable, "-c", CONTESTANT, kind, self.asked.journal, str(SPEEDS[kind])


class Tournament(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.journal = pathlib.Path(folder.name) / "journal"
        self.journal.touch()

    def play(self, batches, budget=60, peers=("graph", "jax"), **environment):
        os.environ.update(environment)
        self.addCleanup(lambda: [os.environ.pop(name, None) for name in environment])
        asked = argparse.Namespace(peers=list(peers), compiled=None, monotone=False, precisions=["bf16"], batches=batches,
                                   rounds=2, budget=budget, patience=20, memory=2**40, journal=str(self.journal))
        cells, refused = suite_gpu.cells_of(asked, [("lenet-5", ROOT / "bench" / "networks" / "lenet-5.json")])
        self.assertEqual(refused, [])
        rows = []
        Fakes(asked, cells, rows.append).run()
        return {row["batch"]: row for row in rows}

    def test_every_cell_has_the_ratio_to_the_best_peer(self):
        rows = self.play([1, 2, 4, 8, 16])
        self.assertEqual(sorted(rows), [1, 2, 4, 8, 16])
        for batch, row in rows.items():
            self.assertEqual(row["peer_label"], "jax", row)
            self.assertAlmostEqual(row["ratio"], 2)
            self.assertAlmostEqual(row["sweetspot"], 300 * batch)

    def test_nobody_is_timed_while_somebody_prepares(self):
        self.play([1, 2, 4, 8, 16, 32])
        spans = [json.loads(line) for line in self.journal.read_text().splitlines()]
        preparing = [(begin, end) for _, prepares, begin, end in spans if prepares]
        timed = [(begin, end) for _, prepares, begin, end in spans if not prepares]
        self.assertTrue(preparing and timed)
        for begin, end in timed:
            self.assertFalse([p for p in preparing if p[0] < end and begin < p[1]])

    def test_sweetspot_takes_memory_only_for_what_its_peers_have_ready(self):
        self.play([1, 2, 4, 8, 16, 32])
        spans = [json.loads(line) for line in self.journal.read_text().splitlines()]
        finished = {kind: sorted(end for k, prepares, _, end in spans if prepares and k == kind) for kind in SPEEDS}
        begun = sorted(begin for kind, prepares, begin, _ in spans if prepares and kind == "sweetspot")
        self.assertEqual(len(begun), 6)
        for i, begin in enumerate(begun):
            for kind in ("graph", "jax"):
                self.assertLess(finished[kind][i], begin)

    def test_sweetspot_alone_is_timed_as_soon_as_enough_is_ready(self):
        enough, suite_gpu.ENOUGH = suite_gpu.ENOUGH, 4
        self.addCleanup(setattr, suite_gpu, "ENOUGH", enough)
        rows = self.play(list(range(1, 61)), peers=[])
        self.assertEqual([batch for batch, row in rows.items() if row.get("speeds", {}).keys() != {"sweetspot"}], [])
        prepares = [json.loads(line)[1] for line in self.journal.read_text().splitlines()]
        # And what each process has begun by then.
        self.assertLessEqual(prepares.index(False), 4 + suite_gpu.WORKERS_ALONE)

    def test_a_process_that_ends_costs_its_own_cell_only(self):
        rows = self.play([1, 2, 4, 8], FATAL_jax="4")
        self.assertEqual(rows[4]["failed"], {"jax": "out of memory"})
        self.assertEqual(rows[4]["peer_label"], "graph")
        for batch in (1, 2, 8):
            self.assertEqual(rows[batch]["failed"], {})
            self.assertAlmostEqual(rows[batch]["ratio"], 2)

    def test_a_run_goes_on_where_another_ended(self):
        asked = argparse.Namespace(peers=["graph", "jax"], compiled=None, monotone=False, precisions=["bf16"],
                                   batches=[1, 2, 4])
        cells, _ = suite_gpu.cells_of(asked, [("lenet-5", ROOT / "bench" / "networks" / "lenet-5.json")])
        cell = {"network": "lenet-5", "precision": "bf16"}
        rated = cell | {"batch": 1, "speeds": {"sweetspot": [2], "graph": [1]}, "failed": {"jax": "out of memory"}}
        missed = cell | {"batch": 2, "skipped": "the budget was over"}
        alone = cell | {"batch": 4, "speeds": {"sweetspot": [2], "graph": [1]}, "failed": {}}
        self.assertEqual(sorted(cell.batch for cell in suite_gpu.without(cells, [rated, missed, alone])), [2, 4])

    def test_batches_are_compared_network_by_network(self):
        asked = argparse.Namespace(peers=[], compiled=None, monotone=True, precisions=["bf16", "fp32"], batches=[1, 2, 4])
        names = ["lenet-5", "mlp-tanh"]
        cells, _ = suite_gpu.cells_of(asked, [(name, ROOT / "bench" / "networks" / f"{name}.json") for name in names])
        self.assertEqual([(cell.network, cell.precision, cell.batch) for cell in cells],
                         [(n, precision, batch) for n in names for precision in ("bf16", "fp32") for batch in (1, 2, 4)])

    def test_a_sample_is_balanced(self):
        asked = argparse.Namespace(peers=[], compiled=None, monotone=False, precisions=["bf16", "fp32"], batches=[1, 16, 128])
        names = ["lenet-5", "mlp-tanh", "wide-mlp", "keras-mnist", "vgg11-bn"]
        cells, _ = suite_gpu.cells_of(asked, [(name, ROOT / "bench" / "networks" / f"{name}.json") for name in names])

        def counts(count, *fields):
            sample = suite_gpu.sampled(cells, count)
            self.assertEqual(len(set(sample)), len(sample))
            return sorted(collections.Counter(tuple(getattr(c, f) for f in fields) for c in sample).values())
        self.assertEqual(counts(5, "network"), [1] * 5)
        self.assertEqual(counts(10, "network"), [2] * 5)
        self.assertEqual(counts(6, "precision", "batch"), [1] * 6)
        self.assertEqual(counts(30, "network", "precision", "batch"), [1] * 30)
        self.assertEqual(len(suite_gpu.sampled(cells, 99)), 30)
        self.assertEqual(suite_gpu.sampled(cells, 8), suite_gpu.sampled(cells, 8))

    def test_what_the_budget_does_not_reach_is_said(self):
        rows = self.play([1, 2], budget=0)
        self.assertEqual({row["skipped"] for row in rows.values()}, {"the budget was over"})


class Report(unittest.TestCase):
    def test_peers_of_two_runs_are_joined(self):
        cell = {"network": "a", "precision": "bf16", "batch": 1}
        first = suite_report.rated(cell | {"speeds": {"sweetspot": [20], "graph": [5], "jax": [10]}, "failed": {}})
        # The machine is twice as fast in the second run.
        second = suite_report.rated(cell | {"speeds": {"sweetspot": [40], "compile": [16]}, "failed": {"eager": "why"}})
        joined = suite_report.joined(first, second)
        self.assertEqual((joined["peer_label"], joined["ratio"]), ("jax", 2))
        self.assertEqual(joined["speeds"]["compile"], [16])
        self.assertEqual(joined["failed"], {"eager": "why"})
        skipped = cell | {"skipped": "the budget was over"}
        self.assertEqual(suite_report.joined(first, skipped), first)
        self.assertEqual(suite_report.joined(skipped, second), second)

    def test_a_later_run_of_sweetspot_alone_has_the_earlier_peers(self):
        cell = {"network": "a", "precision": "bf16", "batch": 1, "failed": {}}
        first = suite_report.rated(cell | {"speeds": {"sweetspot": [20], "jax": [10]}})
        alone = suite_report.rated(cell | {"speeds": {"sweetspot": [30]}})
        joined = suite_report.joined(first, alone)
        self.assertEqual((joined["peer_label"], joined["peer"], joined["ratio"]), ("jax", 10, 3))

    def test_a_cut_off_file_keeps_what_it_has(self):
        head = {"schema_version": 2, "asked": {"device": "cuda", "monotone": False, "random": 0, "networks": None}}
        row = {"network": "a", "precision": "bf16", "batch": 1, "sweetspot": 20, "peer": 10, "peer_label": "jax", "ratio": 2.0,
               "speeds": {"sweetspot": [20], "jax": [10]}, "failed": {}}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rows.jsonl"
            path.write_text("\n".join(map(json.dumps, [head, row, row | {"batch": 1024, "ratio": 0.5}]))
                            + '\n{"network": "b", "prec')
            shown = subprocess.run([sys.executable, "-B", ROOT / "bench" / "suite", "--report", path],
                                   capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("| 1 to 1 | 1 | 2.00 | 2 asked: met |", shown.stdout)
        self.assertIn("1 are below 0.8: a at 1024 0.50", shown.stdout)


if __name__ == "__main__":
    unittest.main()
