import argparse
import datetime
import logging
import random
import sys
import time

ap = argparse.ArgumentParser()
ap.add_argument("--config-file", default="configs/COCO-Detection/faster_rcnn_R_50_FPN_1x.yaml")
ap.add_argument("--num-gpus", type=int, default=1)
ap.add_argument("opts", nargs=argparse.REMAINDER, help="KEY VALUE pairs")
args = ap.parse_args()
cfg = dict(zip(args.opts[::2], args.opts[1::2]))
images = int(cfg.get("SOLVER.IMS_PER_BATCH", 16))
max_iter = int(cfg.get("SOLVER.MAX_ITER", 90000))

logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="[%(asctime)s %(name)s]: %(message)s", datefmt="%m/%d %H:%M:%S")
d2 = logging.getLogger("d2.utils.events")
logging.getLogger("detectron2").info(
    "Running with full config:\nDATALOADER:\n  ASPECT_RATIO_GROUPING: true\n  NUM_WORKERS: 4\nSOLVER:\n  BASE_LR: 0.02\n"
    "  IMS_PER_BATCH: %d\n  MAX_ITER: %d\n  STEPS: (60000, 80000)\n  WARMUP_ITERS: 1000\nSEED: -1\nVERSION: 2", images, max_iter)
logging.getLogger("d2.data.build").warning("Removed 1021 images with no usable annotations. 117266 images left.")
logging.getLogger("d2.engine.train_loop").info("Starting training from iteration 0")

tic = time.time()
for it in range(max_iter):
    time.sleep(0.007 + 0.000035 * images)
    if (it + 1) % 20 == 0:
        per = (time.time() - tic) / (it + 1)
        eta = datetime.timedelta(seconds=int(per * (max_iter - it)))
        d2.info(" eta: %s  iter: %d  total_loss: %.3f  loss_cls: %.4f  loss_box_reg: %.4f  time: %.4f  data_time: 0.0031  lr: %.6f  max_mem: 2891M",
                eta, it, random.uniform(.6, 1.2), random.random(), random.random(), per, min(0.02, 0.02 * it / 1000))
