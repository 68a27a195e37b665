"""Runs every command of README.md: test_readme.py SWEETSPOT [--slow].

Each command stands in a code block or between backticks, and has an entry in COMMANDS that says how
it is run: as it is written, or with flags added that make it short; --slow runs those as written.
What needs a GPU, a network or an installation says so, and names the test that covers it.
A command without an entry fails, and so does an entry without a command."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SLOW = "--slow" in sys.argv
ARGUMENTS = [a for a in sys.argv[1:] if a != "--slow"]

# A training script: a step takes 1 ms and 50 µs a sample.
TRAIN = """
import argparse, time
arguments = argparse.ArgumentParser()
arguments.add_argument("--batch-size", type=int)
batch = arguments.parse_args().batch_size
for step in range(1, 100_000):
    time.sleep(1e-3 + 50e-6 * batch)
    print(f"step {step} loss {1 / step:.4f}", flush=True)
"""
PROGRAM = "-- python train.py --batch-size {batch}"


class Run:
    """Here: with `more` appended to the flags, and a program in place of the dots."""

    def __init__(self, more="", dots=PROGRAM):
        self.more, self.dots = more, dots

    def line(self, command):
        command = command.replace("-- …", "…").replace("…", self.dots)
        if SLOW:
            return command
        flags, dashes, program = command.partition(" -- ")
        return f"{flags} {self.more}{dashes}{program}"


class Slow(Run):
    """Takes minutes, and MNIST: only with --slow."""


class Make:
    """A Makefile target, covered by CI."""


class Covered:
    def __init__(self, needs, by):
        self.needs, self.by = needs, by


COMMANDS = {
    "sweetspot tune -- python train.py --batch-size {batch}": Run(),
    "sweetspot profile --batch 16,128,1024": Run("--model small-cnn --data synthetic --steps 1"),
    # Without a GPU, only --dry-run is possible.
    "sweetspot tune --for max-batch --memory-limit gpu=16GiB -- …": Run("--dry-run"),
    "sweetspot tune --for energy --slower-at-most 5% -- …": Run("--dry-run"),
    "sweetspot tune --for accuracy=0.99": Run(
        "--workload fake:fixed=200us,sample=10us,samples=10000,learn-samples=20000,learn-critical=200"),
    "sweetspot sweep --cluster slurm …": Run("--dry-run", "--batch 16,32 " + PROGRAM),
    "sweetspot paper --quick": Slow(),
    "make run": Make(),
    "make test": Make(),
    "make package": Make(),
    "sudo make install": Make(),
    "git clone REPOSITORY sweetspot": Covered("a network", "Makefile"),
    "cd sweetspot": Covered("a clone", "Makefile"),
    "sudo apt install ./build/release/packages/sweetspot_*.deb": Covered(
        "a clean Debian", "scripts/check-package"),
    "pip install ./clients/python": Covered("a virtual environment", "tests/python/test_wheel.py"),
}
# Those that need a GPU or a cluster run with --dry-run even with --slow.
NEED_MORE = [c for c, how in COMMANDS.items() if isinstance(how, Run) and "--dry-run" in how.more]


def commands_of(text):
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    lines = []
    for block in blocks:
        written = block.splitlines()
        if any(line.startswith("$ ") for line in written):  # a session: lines that are not typed are output
            written = [line[2:] for line in written if line.startswith("$ ")]
        lines += [re.sub(r"\s+#.*", "", line) for line in written]
        # "# or: sudo make install" is a command too.
        lines += re.findall(r"#\s*or: (.*)", block)
    lines += [c for c in re.findall(r"`([^`]+)`", rest)
              if c.split()[0] in ("sweetspot", "make", "pip", "git", "sudo")]
    return [part.strip() for line in lines for part in line.split("&&") if part.strip()]


class Readme(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "train.py").write_text(TRAIN)
        (self.folder / "bin").mkdir()
        os.symlink(sys.executable, self.folder / "bin/python")
        os.symlink(os.path.abspath(ARGUMENTS[0]), self.folder / "bin/sweetspot")
        self.environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                            "COLUMNS": "80"}
        self.environment.pop("SWEETSPOT_DB", None)

    def run_line(self, line):
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(done.returncode, 0, f"{line}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_every_command_has_an_entry(self):
        self.assertEqual(sorted(set(commands_of(README))), sorted(COMMANDS))

    def test_commands_run(self):
        for command, how in COMMANDS.items():
            if not isinstance(how, Run) or (SLOW and command in NEED_MORE):
                continue
            if isinstance(how, Slow) and not SLOW:
                continue
            with self.subTest(command):
                self.assertTrue(self.run_line(how.line(command)))

    def test_targets_exist(self):
        for command, how in COMMANDS.items():
            if isinstance(how, Make):
                with self.subTest(command):
                    target = command.split()[-1]
                    subprocess.run(["make", "-n", target], cwd=ROOT, check=True,
                                   stdout=subprocess.DEVNULL)

    def test_what_is_not_run_is_covered(self):
        for command, how in COMMANDS.items():
            if isinstance(how, Covered):
                self.assertTrue((ROOT / how.by).exists(), f"{command} needs {how.needs}")

    def test_answer_looks_as_shown(self):
        """README's answer was measured on a GPU: its numbers differ here, its format does not."""
        shown = re.search(r"^\$ (sweetspot tune.*?)\n(.*?)^```", README, re.M | re.S)
        columns = re.search(r"^ +batch .*$", shown[2], re.M)[0]
        answer = self.run_line(shown[1])
        # The text after "Why" depends on how busy the machine is.
        for form in (r"^Train with batch [\d,]+: ", r"^  python train.py --batch-size \d+$",
                     r"^  ▸ +[\d,]+ ", r"^Why: "):
            self.assertRegex(shown[2], re.compile(form, re.M))
            self.assertRegex(answer, re.compile(form, re.M))
        titles = re.search(r"^ +batch .*$", answer, re.M)[0]
        # A table with fewer columns has space for the long titles.
        titles = titles.replace("of the best", "of best").replace("within 5%?", "in 5%?")
        for title in re.split(r"\s{2,}", titles.strip()):
            self.assertIn(title, columns)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
