import json
import random
import sys
import time

batch = next(int(a.split("=")[1]) for a in sys.argv[1:] if a.startswith("--batch="))
step = 0


def out(phase, n, **m):
    print(json.dumps({"severity": "INFO", "time": time.time(), "labels": {"job": "rec-17", "phase": phase},
                      "payload": {"progress": {"step": n}, "metrics": m}}), flush=True)


while True:
    for _ in range(100):
        step += 1
        time.sleep(0.007 + 0.00007 * batch)
        if step % 5 == 0:
            out("train", step, loss=random.random())
    for i in range(1, 11):
        time.sleep(0.01)
        out("validation", i, loss=random.random())
