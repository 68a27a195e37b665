import logging
import random
import sys
import time


def read_yaml(path):
    """Enough YAML for our configs, the cluster image has no PyYAML."""
    root, stack = {}, []
    stack.append((-1, root))
    for raw in open(path):
        line = raw.split(" #")[0].rstrip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        key, _, value = line.strip().partition(":")
        value = value.strip().strip("'\"")
        while stack[-1][0] >= indent:
            stack.pop()
        if value:
            stack[-1][1][key] = value
        else:
            child = {}
            stack[-1][1][key] = child
            stack.append((indent, child))
    return root


logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s - %(levelname)s - %(name)s - %(message)s",
    stream=sys.stdout,
)
log = logging.getLogger("trainer")


def dump(cfg, depth=0):
    for key, value in cfg.items():
        if isinstance(value, dict):
            log.info("%s%s:", "  " * depth, key)
            dump(value, depth + 1)
        else:
            log.info("%s%s: %s", "  " * depth, key, value)


def main():
    cfg = read_yaml(sys.argv[sys.argv.index("--config") + 1])
    log.info("Loaded configuration")
    dump(cfg)
    log.warning("cudnn.benchmark is off, this may be slower than needed")
    batch = int(cfg["training"]["batch_size"])
    every = int(cfg["training"]["log_every"])
    total = 26179
    log.info("Dataset has %d images in 10 classes (train 23561 / val 2618)", total)
    steps = total // batch
    for epoch in range(int(cfg["training"]["epochs"])):
        for i in range(steps):
            time.sleep((0.012 + 0.00015 * batch) * random.uniform(0.98, 1.02))
            if i % every == 0:
                log.info("Epoch: %d - Iteration: %d - Loss: %.4f - LR: %.5f", epoch, i, 2.3 / (1 + epoch + i / steps), 0.1)
        log.info("Epoch %d done, top1=%.2f top5=%.2f", epoch, random.uniform(20, 40), random.uniform(50, 70))


main()
