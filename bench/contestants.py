"""The contestants: persistent child processes that answer "run BATCH STEPS" with seconds."""
import dataclasses
import functools
import json
import os
import pathlib
import re
import select
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN_PYTHON = "/usr/bin/python3"
OPENMP_OPENBLAS = pathlib.Path("/usr/lib/x86_64-linux-gnu/openblas-openmp")


def cores():
    return len(os.sched_getaffinity(0))


@functools.cache
def torch_python():
    """The Python that has PyTorch: $TORCH_PYTHON, Debian's, or the one of the PATH."""
    if "TORCH_PYTHON" in os.environ:
        return os.environ["TORCH_PYTHON"]
    asks = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    candidates = [python for python in (DEBIAN_PYTHON, shutil.which("python3")) if python]
    return next((python for python in candidates
                 if pathlib.Path(python).exists() and subprocess.run([python, "-c", asks]).returncode == 0), candidates[0])


@dataclasses.dataclass(frozen=True)
class Contestant:
    side: str  # "sweetspot", "torch", "onednn"
    label: str
    threads: int
    command: tuple
    environment: tuple = ()


class Ended(SystemExit):
    """A contestant's process has ended, or was ended because it did not answer in time."""


class Failed(Exception):
    """A contestant could not do what it was asked; its process still takes requests."""


class Child:
    def __init__(self, contestant, patience=None, wait=True, keep_errors=False, own_group=False):
        """`patience`: seconds that an answer may take. Without `wait` it is ready after ready().
        With `keep_errors` its stderr becomes the reason of its end, and is not shown otherwise.
        With `own_group` it can be signalled together with the processes it starts."""
        self.contestant, self.patience = contestant, patience
        self.errors = tempfile.TemporaryFile("w+") if keep_errors else None
        environment = {**os.environ, "OMP_NUM_THREADS": str(contestant.threads), **dict(contestant.environment)}
        self.process = subprocess.Popen(contestant.command, env=environment, text=True, preexec_fn=os.setpgrp if own_group else None,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        if wait:
            self.ready()

    def ready(self):
        self.version = json.loads(self._line())["version"]

    def ask(self, question):
        self.say(question)
        return self.answer()

    def say(self, question):
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self._ended()

    def answer(self):
        line = self._line()
        if line.startswith("failed:"):
            raise Failed(line[len("failed:"):].strip())
        return line

    def seconds(self, batch, steps):
        return float(self.ask(f"run {batch} {steps}"))

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait()

    def _line(self):
        # One line per answer: nothing of it is in Python's buffer while we wait for the pipe.
        if self.patience and not select.select([self.process.stdout], [], [], self.patience)[0]:
            self.process.kill()
            self.process.wait()
            raise Ended(f"bench: {self.contestant.label} gave no answer within {self.patience:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            self._ended()
        return line

    def _ended(self):
        status = self.process.wait()
        said = []
        if self.errors:
            self.errors.seek(0)
            said = self.errors.read().strip().splitlines()
        raise Ended(said[-1][:300] if said else f"bench: {self.contestant.label} ended early with status {status}")


def tuned_environment():
    """What Debian's PyTorch lacks: OpenBLAS 0.3.21 does not know newer CPUs and falls back to SSE
    kernels, and malloc maps large tensors again at every step."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split()
    kind = "SKYLAKEX" if "avx512dq" in flags else "HASWELL" if "avx2" in flags else None
    settings = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
                "MALLOC_TOP_PAD_": str(256 << 20), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**settings, "OPENBLAS_CORETYPE": kind} if kind else settings


def blas_choices(threads):
    """OpenBLAS' own threads compete with PyTorch's OpenMP threads for the cores: its OpenMP build
    shares them, or it may use one thread. PyTorch's own packages have MKL, which shares them."""
    if torch_python() != DEBIAN_PYTHON:
        return {"": {}}
    if threads == 1:
        return {"": {"OPENBLAS_NUM_THREADS": "1"}}
    choices = {", BLAS threads": {"OPENBLAS_NUM_THREADS": str(threads)},
               ", BLAS serial": {"OPENBLAS_NUM_THREADS": "1"}}
    if OPENMP_OPENBLAS.exists():
        choices[", BLAS OpenMP"] = {"LD_LIBRARY_PATH": str(OPENMP_OPENBLAS)}
    return choices


LAYOUTS, ADAMS = ("contiguous", "channels_last"), ("single", "foreach")  # what PyTorch can choose in a process


def adams_of(version):
    """The ways to update that a PyTorch has: since 2.4 also one kernel for everything on a CPU."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return (*ADAMS, "fused") if numbers >= [2, 4] else ADAMS


def torch_contestants(layouts=LAYOUTS, adams=ADAMS, model="paper-cnn"):
    found = []
    for threads in sorted({1, cores()}):
        for layout in layouts:
            for adam in adams:
                for blas, extra in blas_choices(threads).items():
                    found.append(Contestant(
                        "torch", f"{threads} thr, {layout}, Adam {adam}{blas}", threads,
                        (torch_python(), str(HERE / "torch_peer.py"), str(threads), layout, adam, str(model)),
                        tuple({**tuned_environment(), **extra}.items())))
    return found


def sweetspot_contestants(build, model="paper-cnn"):
    return [Contestant("sweetspot", f"{threads} thr", threads,
                       (str(build / "bench" / "bench_cpu_step"), str(threads), str(model)))
            for threads in sorted({1, cores()})]


def limits_contestant(build):
    return Contestant("onednn", f"{cores()} thr", cores(), (str(build / "bench" / "bench_cpu_limits"),))
