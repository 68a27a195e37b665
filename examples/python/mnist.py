"""What the examples share: the paper's CNN, the MNIST files, the arguments, one weight update."""
import argparse
import os

import torch
import torch.nn.functional as F
from torch import nn


def parse_arguments(description):
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", default=os.path.join(cache, "sweetspot", "mnist"), metavar="DIR",
                        help="folder with the IDX files ('sweetspot data fetch mnist' brings them)")
    parser.add_argument("--batch-size", type=int, default=64, metavar="N")
    parser.add_argument("--epochs", type=int, default=14, metavar="N")
    parser.add_argument("--lr", type=float, default=1.0, metavar="LR")
    parser.add_argument("--workers", type=int, default=0, metavar="N",
                        help="processes that load data (0: the training itself)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    return parser.parse_args()


class Digits(torch.utils.data.Dataset):
    """The training images, normalised one by one as torchvision's transforms do it."""

    def __init__(self, folder):
        with open(os.path.join(folder, "train-images-idx3-ubyte"), "rb") as file:
            images = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8, offset=16)
        with open(os.path.join(folder, "train-labels-idx1-ubyte"), "rb") as file:
            self.labels = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8, offset=8)
        self.images = images.view(-1, 1, 28, 28)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return (self.images[index].float() / 255 - 0.1307) / 0.3081, int(self.labels[index])


def make_loader(dataset, batch_size, workers):
    return torch.utils.data.DataLoader(dataset, batch_size=batch_size, shuffle=True,
                                       num_workers=workers, pin_memory=torch.cuda.is_available())


class Training:
    """The paper's CNN and its optimizer: Adadelta, as in PyTorch's own MNIST example."""

    def __init__(self, seed, learning_rate):
        torch.manual_seed(seed)
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = nn.Sequential(
            nn.Conv2d(1, 32, 4), nn.ReLU(), nn.MaxPool2d(2),   # (B, 32, 12, 12)
            nn.Conv2d(32, 64, 4), nn.ReLU(), nn.MaxPool2d(2),  # (B, 64, 4, 4)
            nn.Flatten(), nn.Dropout(0.25), nn.Linear(1024, 500), nn.ReLU(),
            nn.Dropout(0.5), nn.Linear(500, 10), nn.LogSoftmax(dim=1)).to(self.device)
        self.optimizer = torch.optim.Adadelta(self.model.parameters(), lr=learning_rate)

    def update(self, images, labels):
        """One weight update; gives the loss."""
        images, labels = images.to(self.device), labels.to(self.device)
        self.optimizer.zero_grad()
        loss = F.nll_loss(self.model(images), labels)
        loss.backward()
        self.optimizer.step()
        return loss
