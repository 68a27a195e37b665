import re
import sys
import time
from datetime import datetime

text = open(sys.argv[2]).read()
batch = int(re.search(r"batch:\s*(\d+)", text).group(1))


def log(msg):
    print(datetime.now().isoformat(timespec="milliseconds"), "finetune", msg, flush=True)


log("phase 1/2: head only, batch 32")
for i in range(1, 61):
    time.sleep(0.012)
    log(f"warmup step {i}/60 lr={i / 60 * 1e-3:.2e}")
log(f"phase 2/2: all layers, batch {batch}")
i = 0
while True:
    i += 1
    time.sleep(0.010 + 0.0002 * batch)
    log(f"step {i} loss={2 / (1 + i):.4f} lr=1.00e-03")
    if i % 200 == 0:
        log(f"saved checkpoint at step {i}")
        time.sleep(0.2)
