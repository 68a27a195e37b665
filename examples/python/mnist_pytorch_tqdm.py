"""MNIST in PyTorch with a tqdm bar, which sweetspot reads; it knows nothing of sweetspot.

    sweetspot tune -- python3 mnist_pytorch_tqdm.py --batch-size {batch}
"""
from tqdm import tqdm

import mnist


def main():
    args = mnist.parse_arguments(__doc__)
    loader = mnist.make_loader(mnist.Digits(args.data), args.batch_size, args.workers)
    training = mnist.Training(args.seed, args.lr)
    for epoch in range(1, args.epochs + 1):
        for images, labels in tqdm(loader, desc="Epoch %d" % epoch):
            training.update(images, labels)


if __name__ == "__main__":
    main()
