import json
import random
import sys
import time

B = int(sys.argv[sys.argv.index("--max-sentences") + 1])
N = 160239
per = N // B


def log(tag, **kv):
    print(time.strftime("%Y-%m-%d %H:%M:%S"), "| INFO |", tag, "|", json.dumps({k: str(v) for k, v in kv.items()}), flush=True)


print(time.strftime("%Y-%m-%d %H:%M:%S"), "| INFO | fairseq_cli.train | num. shared model params: 39,469,056 (num. trained: 39,469,056)")
print(time.strftime("%Y-%m-%d %H:%M:%S"), f"| INFO | fairseq_cli.train | max tokens per device = None and max sentences per device = {B}")
for u in range(1, 100000):
    time.sleep(0.014 + 0.0009 * B)
    if u % 10 == 0:
        log("train_inner", epoch=1 + u // per, update=round(u / per, 3), loss=round(random.uniform(8, 13), 3), ppl=round(random.uniform(400, 900), 2),
            wps=round(B * 30 / (0.014 + 0.0009 * B), 1), ups=round(1 / (0.014 + 0.0009 * B), 2), wpb=B * 30, bsz=B, num_updates=u,
            lr=round(u * 1.25e-7, 9), gnorm=round(random.random(), 3), train_wall=u // 60, gb_free=13.4, wall=u // 50)
