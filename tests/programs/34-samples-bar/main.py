import sys
import time
import random

b = int(sys.argv[1])
N = 50000
for epoch in range(1, 21):
    print("Epoch %d of 20" % epoch)
    done = 0
    while done < N:
        n = min(b, N - done)
        time.sleep(.004 + .0004 * n)
        done += n
        w = 25 * done // N
        sys.stdout.write("\r[" + "#" * w + " " * (25 - w) + "] %d/%d samples, loss=%.3f" % (done, N, random.random()))
        sys.stdout.flush()
    print()
