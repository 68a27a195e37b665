import argparse
import logging
import random
import time

head = "%(asctime)-15s Node[0] %(message)s"
logging.basicConfig(level=logging.DEBUG, format=head)

ap = argparse.ArgumentParser()
ap.add_argument("--network", default="resnet")
ap.add_argument("--num-layers", type=int, default=50)
ap.add_argument("--batch-size", type=int, default=128)
ap.add_argument("--disp-batches", type=int, default=50)
ap.add_argument("--num-epochs", type=int, default=80)
ap.add_argument("--num-examples", type=int, default=1281167)
ap.add_argument("--lr", type=float, default=0.1)
ap.add_argument("--lr-step-epochs", default="30,60")
args = ap.parse_args()
logging.info("start with arguments %s", args)
logging.info("[12:01:27] src/io/iter_image_recordio_2.cc:172: ImageRecordIOParser2: data/train.rec, use 4 threads for decoding..")

for epoch in range(args.num_epochs):
    tic = time.time()
    for nbatch in range(1, args.num_examples // args.batch_size + 1):
        time.sleep(0.003 + 0.00003 * args.batch_size)
        if nbatch % args.disp_batches == 0:
            speed = args.disp_batches * args.batch_size / (time.time() - tic)
            logging.info("Epoch[%d] Batch [%d]\tSpeed: %.2f samples/sec\taccuracy=%f", epoch, nbatch, speed, random.random() / 10)
            tic = time.time()
