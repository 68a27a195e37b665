import argparse
import multiprocessing as mp
import os
import random
import signal
import sys
import time


def worker(rank, world, batch, barrier):
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = os.getppid()
    print(f"| distributed init (rank {rank}): env://", flush=True)
    random.seed(rank)
    per_rank = 1281167 // (world * batch)
    barrier.wait()
    if rank == 0:
        print(f"=> global batch {world * batch} ({world} x {batch})", flush=True)
    for epoch in range(90):
        for i in range(per_rank):
            time.sleep(0.011 + 0.0006 * batch + random.random() * 0.001)
            barrier.wait()  # all-reduce
            if i % 2 == 0:
                sys.stdout.write(f"[rank {rank}] Epoch: [{epoch}]  iter [{i}/{per_rank}]  loss {random.uniform(6, 7):.4f}  mem {4000 + rank}\n")
                sys.stdout.flush()
            if os.getppid() != parent:
                os._exit(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nproc", type=int, default=4)
    ap.add_argument("--batch-size-per-gpu", type=int, default=32)
    args = ap.parse_args()
    sys.stderr.write(
        "*****************************************\n"
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded.\n"
        "*****************************************\n"
    )
    barrier = mp.Barrier(args.nproc)
    procs = [mp.Process(target=worker, args=(r, args.nproc, args.batch_size_per_gpu, barrier), daemon=True) for r in range(args.nproc)]
    for p in procs:
        p.start()
    for p in procs:
        p.join()


if __name__ == "__main__":
    main()
