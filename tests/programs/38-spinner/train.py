import itertools
import sys
import time

B = int(sys.argv[1][2:])
spin = itertools.cycle("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
t0 = time.time()
sys.stderr.write("\x1b[?25l")
for n in itertools.count(1):
    time.sleep(0.006 + 0.0006 * B)
    sys.stderr.write(f"\x1b[2K\x1b[1G\x1b[36m{next(spin)}\x1b[0m training … {n} batches in {time.time() - t0:.1f}s (loss {1 / n:.4f})")
    sys.stderr.flush()
