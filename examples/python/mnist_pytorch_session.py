"""MNIST in PyTorch as a session: one process that sweetspot asks for batch size after batch size.

    sweetspot tune --batch-from-env -- python3 mnist_pytorch_session.py

On its own it trains with --batch-size.
"""
import sys
from pathlib import Path

import mnist

# Not needed where sweetspot.py lies beside the script.
sys.path.append(str(Path(__file__).resolve().parents[2] / "clients" / "python"))
import sweetspot


def train(args, dataset, batch):
    """A function of its own: what it made is freed before the next batch size begins."""
    loader = mnist.make_loader(dataset, batch, args.workers)
    training = mnist.Training(args.seed, args.lr)
    sweetspot.begin()
    for epoch in range(1, args.epochs + 1):
        for images, labels in sweetspot.data(loader):
            loss = training.update(images, labels)
            if sweetspot.step(len(images)):
                return
        print("Batch %d, epoch %d: loss %.4f" % (batch, epoch, loss.item()), flush=True)


def main():
    args = mnist.parse_arguments(__doc__)
    dataset = mnist.Digits(args.data)
    for batch in sweetspot.batches(default=args.batch_size):
        train(args, dataset, batch)


if __name__ == "__main__":
    main()
