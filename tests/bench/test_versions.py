#!/usr/bin/python3
"""bench/versions with builds that answer at fixed speeds."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Answers like bench_cpu_step and bench_gpu_step.
BUILD = """#!/usr/bin/python3
import json, sys
print(json.dumps({{"version": "fake"}}), flush=True)
blocks = 0
for line in sys.stdin:
    _, *question = line.split()
    if len(question) == 4:
        precision, batch, steps, network = question
        assert network.endswith("lenet-5.json")
    else:
        batch, steps, precision = question
    if batch == "{fatal}":
        print("failed: out of memory", flush=True)
        continue
    blocks += 1
    print(int(steps) * int(batch) / {speeds}[precision] * ({slowed} if blocks % 7 else 1), flush=True)
"""


class Versions(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def build(self, name, speeds, fatal="", slowed=1):
        for program in ("bench_cpu_step", "bench_gpu_step"):
            path = self.folder / name / "bench" / program
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(BUILD.format(speeds=speeds, fatal=fatal, slowed=slowed))
            path.chmod(0o755)
        return f"--build={self.folder / name}"

    def rows(self, *flags):
        done = subprocess.run([sys.executable, "-B", ROOT / "bench" / "versions", "--rounds=3", "--networks=lenet-5", *flags],
                              text=True, capture_output=True, check=True)
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "lenet" in line]
        return cells, done

    def test_a_build_is_compared_with_the_first_and_with_its_own_fp32(self):
        old = self.build("old", {"fp32": 1e6, "bf16": 2e6})
        new = self.build("new", {"fp32": 2e6, "bf16": 8e6})
        cells, done = self.rows(old, new, "--batches=2", "--precision=fp32,bf16")
        self.assertEqual(cells, [["lenet-5", "fp32", "2", "2.0", "1.0", "2.000", "1.000", "1.000"],
                                 ["lenet-5", "bf16", "2", "1.0", "0.2", "4.000", "2.000", "4.000"]])
        self.assertIn("2.000 times as fast", done.stdout)
        self.assertEqual(self.rows(old, new, "--batches=2", "--precision=fp32,bf16", "--device=cuda")[0], cells)

    def test_fast_tenths_are_of_the_rounds_that_nobody_slowed(self):
        old, new = self.build("old", {"fp32": 1e6}), self.build("new", {"fp32": 2e6}, slowed=10)
        flags = old, new, "--batches=2", "--rounds=20"
        self.assertEqual(self.rows(*flags)[0], [["lenet-5", "fp32", "2", "2.0", "10.0", "0.200"]])
        self.assertEqual(self.rows(*flags, "--fast")[0], [["lenet-5", "fp32", "2", "2.0", "1.0", "2.000"]])

    def test_what_the_budget_does_not_reach_is_told_once(self):
        cells, done = self.rows(self.build("old", {"fp32": 1e6}), "--budget=0")
        self.assertEqual((cells, done.stderr.count("budget")), ([], 1))

    def test_a_batch_that_fails_is_told_and_the_others_go_on(self):
        cells, done = self.rows(self.build("old", {"fp32": 1e6}), self.build("new", {"fp32": 1e6}, fatal="4"), "--batches=2,4,8")
        self.assertEqual([row[2] for row in cells], ["2", "8"])
        self.assertIn("lenet-5, batch 4: out of memory", done.stderr)


if __name__ == "__main__":
    unittest.main()
