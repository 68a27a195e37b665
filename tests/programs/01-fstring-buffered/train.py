"""cifar thing, take 4 (the one that works)"""
import argparse
import random
import sys
import time
import warnings

p = argparse.ArgumentParser()
p.add_argument("--batch-size", "-b", type=int, default=32)
p.add_argument("--epochs", type=int, default=40)
args = p.parse_args()

warnings.warn("The parameter 'pretrained' is deprecated since 0.13 and may be removed in 0.15")

# cluster filesystem hates small writes, so collect 10 lines and then write
pending = []


def say(line):
    pending.append(line)
    if len(pending) == 10:
        sys.stdout.write("\n".join(pending) + "\n")
        sys.stdout.flush()
        pending.clear()


N = 50000
say(f"<< cfg >> bs={args.batch_size} :: epochs={args.epochs} :: N={N} :: seed=1234 :: wd=5e-4")
loss = 2.303
it = 0
for ep in range(1, args.epochs + 1):
    for start in range(0, N, args.batch_size):
        n = min(args.batch_size, N - start)
        time.sleep(0.006 + 0.0004 * n)
        it += 1
        loss = loss * 0.9995 + random.gauss(0, 0.004)
        say(f">> ep={ep:02d} ~ it#{it:05d} ;; loss:{loss:.4f} (best {loss - 0.01:.3f}) ;; lr=1.0e-03")
    say(f"== end of ep {ep} == val-acc {random.uniform(0.4, 0.6):.2%} ==")
