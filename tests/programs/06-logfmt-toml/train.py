import datetime
import random
import sys
import time
import tomllib


def log(level, msg, **kv):
    ts = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    rest = " ".join(f'{k}="{v}"' if " " in str(v) else f"{k}={v}" for k, v in kv.items())
    print(f'ts={ts} level={level} caller=train.py:{random.randint(40, 42)} msg="{msg}" {rest}', flush=True)


with open(sys.argv[1], "rb") as f:
    conf = tomllib.load(f)

batch = conf["train"]["batch"]
every = conf["log"]["every"]
log("info", "configuration read", path=sys.argv[1], title=conf["title"], rows=conf["data"]["rows"])
log("warn", "shuffle buffer smaller than file", buffer=65536, file_rows=1527034)
log("info", "embedding tables built", tables=26, rows=33762577, dim=16, mem="2.01 GiB")
seen = 0
for step in range(1, conf["train"]["steps"] + 1):
    time.sleep(0.008 + 0.0002 * batch)
    seen += batch
    if step % every == 0:
        log("info", "train", step=step, examples=seen, logloss=f"{0.46 + random.gauss(0, 0.003):.5f}", auc=f"{0.79 + random.gauss(0, .002):.4f}")
