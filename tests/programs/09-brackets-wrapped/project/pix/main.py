import argparse
import random
import time


def run(opt):
    nb = 4000 // opt.b
    for ep in range(1, 11):
        for i in range(1, nb + 1):
            time.sleep(0.003 + 0.003 * opt.b)
            print("[epoch %d/%d][batch %d/%d] [D loss: %f] [G loss: %f]" % (ep, 10, i, nb, random.random(), 1 + random.random()))
        print("saved samples to images/%d.png" % (ep * nb))
        print()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--data")
    ap.add_argument("--workers", type=int)
    ap.add_argument("-b", type=int, default=1)
    opt = ap.parse_args()
    print(opt)
    run(opt)
