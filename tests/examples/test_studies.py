"""The ready studies of examples/studies in their short form, so that they cannot rot.

test_studies.py SWEETSPOT: the program to run them with."""
import os
import subprocess
import sys
import tempfile
import unittest

STUDIES = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "studies")
SHORT = ["--precision-of-estimate", "50%"]
# For our own models: two threads would make each step wait for what else runs on the machine.
ONE_THREAD = [*SHORT, "--threads", "1"]
SWEETSPOT = os.path.abspath(sys.argv.pop(1))


class Studies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def run_study(self, name, *arguments):
        """Its output; fails unless it succeeds."""
        done = subprocess.run([os.path.abspath(os.path.join(STUDIES, name)), *arguments],
                              cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, SWEETSPOT=SWEETSPOT, PYTHON=sys.executable,
                                       LC_ALL="C.UTF-8"), universal_newlines=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def rows(self, text):
        """The tables' rows as lists of cells, without their heads."""
        lines = [line for line in text.splitlines() if line.startswith("| ") and "batch" not in line]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    def test_small_batches(self):
        rows = self.rows(self.run_study("small-batches", *ONE_THREAD))
        self.assertEqual([row[0] for row in rows], ["1", "4", "16", "128"])

    def test_loading_delay(self):
        rows = self.rows(self.run_study("loading-delay", *ONE_THREAD))
        self.assertEqual({(row[0], row[1]) for row in rows},
                         {(batch, workers) for batch in ("16", "128") for workers in "014"})

    def test_utilisation(self):
        self.assertIn("data_wait", self.run_study("utilisation", "--steps", "2"))

    def test_memory_limits(self):
        text = self.run_study("memory-limits")
        self.assertEqual(text.count("the largest batch that fits"), 3)

    def test_timing(self):
        text = self.run_study("timing", *SHORT)
        self.assertIn("512", text)
        self.assertTrue("PyTorch is not here" in text or text.count("The fastest was") == 3, text)

    def test_accumulation(self):
        rows = self.rows(self.run_study("accumulation", *ONE_THREAD))
        self.assertEqual([row[1] for row in rows], ["1", "4", "16"])

    def test_recipe(self):
        text = self.run_study("recipe", *ONE_THREAD)
        self.assertEqual(text.count("test acc."), 3, text)

    def test_larger_is_not_faster(self):
        shown = self.run_study("larger-is-not-faster", "--dry-run")
        self.assertIn("detector.py --batch", shown)
        subprocess.run([sys.executable, "-B", os.path.join(STUDIES, "detector.py"), "--steps", "2",
                        "--workers", "2"], check=True)

    def test_every_study_is_told_of(self):
        with open(os.path.join(STUDIES, "README.md"), encoding="utf-8") as file:
            text = file.read()
        for name in os.listdir(STUDIES):
            if "." not in name:
                self.assertIn("`%s`" % name, text)


if __name__ == "__main__":
    unittest.main()
