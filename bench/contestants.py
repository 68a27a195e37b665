"""Who runs: persistent child processes that answer "run BATCH STEPS" with seconds."""
import dataclasses
import json
import os
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
DEBIAN_PYTHON = "/usr/bin/python3"
OPENMP_OPENBLAS = pathlib.Path("/usr/lib/x86_64-linux-gnu/openblas-openmp")


def cores():
    return len(os.sched_getaffinity(0))


@dataclasses.dataclass(frozen=True)
class Contestant:
    side: str  # "sweetspot", "torch", "onednn"
    label: str
    threads: int
    command: tuple
    environment: tuple = ()


class Child:
    def __init__(self, contestant):
        self.contestant = contestant
        environment = {**os.environ, "OMP_NUM_THREADS": str(contestant.threads), **dict(contestant.environment)}
        self.process = subprocess.Popen(contestant.command, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.version = json.loads(self._line())["version"]

    def ask(self, question):
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
        return self._line()

    def seconds(self, batch, steps):
        return float(self.ask(f"run {batch} {steps}"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench: {self.contestant.label} ended early with status {self.process.wait()}")
        return line


def tuned_environment():
    """What Debian's PyTorch lacks: OpenBLAS 0.3.21 does not know newer CPUs and falls back to SSE
    kernels, and malloc maps large tensors afresh at every step."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split()
    kind = "SKYLAKEX" if "avx512dq" in flags else "HASWELL" if "avx2" in flags else None
    settings = {"MALLOC_MMAP_THRESHOLD_": str(4 << 30), "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
                "MALLOC_TOP_PAD_": str(256 << 20), "PYTHONDONTWRITEBYTECODE": "1"}
    return {**settings, "OPENBLAS_CORETYPE": kind} if kind else settings


def blas_choices(threads):
    """OpenBLAS' own threads fight PyTorch's OpenMP threads for the cores: its OpenMP build shares
    them, or it may keep to one."""
    if threads == 1:
        return {"": {"OPENBLAS_NUM_THREADS": "1"}}
    choices = {", BLAS threads": {"OPENBLAS_NUM_THREADS": str(threads)},
               ", BLAS serial": {"OPENBLAS_NUM_THREADS": "1"}}
    if OPENMP_OPENBLAS.exists():
        choices[", BLAS OpenMP"] = {"LD_LIBRARY_PATH": str(OPENMP_OPENBLAS)}
    return choices


def torch_contestants():
    found = []
    for threads in sorted({1, cores()}):
        for layout in ("contiguous", "channels_last"):
            for adam in ("single", "foreach"):
                for blas, extra in blas_choices(threads).items():
                    found.append(Contestant(
                        "torch", f"{threads} thr, {layout}, Adam {adam}{blas}", threads,
                        (DEBIAN_PYTHON, str(HERE / "torch_peer.py"), str(threads), layout, adam),
                        tuple({**tuned_environment(), **extra}.items())))
    return found


def sweetspot_contestants(build):
    return [Contestant("sweetspot", f"{threads} thr", threads,
                       (str(build / "bench" / "bench_cpu_step"), str(threads)))
            for threads in sorted({1, cores()})]


def limits_contestant(build):
    return Contestant("onednn", f"{cores()} thr", cores(), (str(build / "bench" / "bench_cpu_limits"),))
