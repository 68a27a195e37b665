"""MNIST in PyTorch that tells sweetspot of each step: two lines more than without.

    sweetspot tune -- python3 mnist_pytorch_step.py --batch-size {batch}
"""
import sys
from pathlib import Path

import mnist

# Not needed where sweetspot.py lies beside the script.
sys.path.append(str(Path(__file__).resolve().parents[2] / "clients" / "python"))
import sweetspot


def main():
    args = mnist.parse_arguments(__doc__)
    loader = mnist.make_loader(mnist.Digits(args.data), args.batch_size, args.workers)
    training = mnist.Training(args.seed, args.lr)
    sweetspot.begin()
    for epoch in range(1, args.epochs + 1):
        for images, labels in sweetspot.data(loader):
            loss = training.update(images, labels)
            sweetspot.step(len(images))
        print("Epoch %d: loss %.4f" % (epoch, loss.item()), flush=True)


if __name__ == "__main__":
    main()
