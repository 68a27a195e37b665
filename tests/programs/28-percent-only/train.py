import os
import random
import sys
import time

batch = int(os.environ.get("BS", 20))
MAX = 30000  # updates, whatever the batch

print("segmenter 0.4.1 (build 2217)")
print("memory pool: 1024 MB")
for i in range(MAX):
    time.sleep(0.005 + 0.0005 * batch)
    sys.stdout.write("\rtraining ... %6.3f %%  (quality %.2f)" % (100.0 * (i + 1) / MAX, random.random()))
    sys.stdout.flush()
print("\nfinished, weights.bin written")
