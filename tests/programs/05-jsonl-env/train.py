# entry point of the training container; everything comes from the environment
import json
import os
import random
import socket
import sys
import time

BATCH_SIZE = int(os.environ.get("BATCH_SIZE", "128"))
LEARNING_RATE = float(os.environ.get("LEARNING_RATE", "3e-4"))
RUN_ID = os.environ.get("RUN_ID", "local-0001")


def emit(event, **fields):
    record = {"ts": round(time.time(), 3), "run": RUN_ID, "host": socket.gethostname(), "event": event}
    record.update(fields)
    json.dump(record, sys.stdout)
    sys.stdout.write("\n")
    sys.stdout.flush()


emit("start", pid=os.getpid(), python=sys.version.split()[0], params={"batch_size": BATCH_SIZE, "lr": LEARNING_RATE, "layers": 12, "d_model": 768})
emit("dataset", split="train", rows=480189, files=17, bytes=2043871233)
emit("dataset", split="valid", rows=17770, files=1, bytes=75129342)

global_step = 0
loss = 1.9
while True:
    time.sleep((0.020 + 0.0001 * BATCH_SIZE) * random.gauss(1, 0.02))
    global_step += 1
    loss = 0.999 * loss + random.gauss(0, 0.002)
    emit("train", global_step=global_step, loss=round(loss, 5), lr=LEARNING_RATE, grad_norm=round(random.uniform(0.5, 2), 3))
    if global_step % 40 == 0:
        emit("heartbeat", rss_mb=random.randint(800, 820), uptime_s=round(time.process_time(), 2))
