"""MNIST in PyTorch, written like PyTorch's own example; it knows nothing of sweetspot.

It prints a line each --log-interval batches, with the samples of the epoch so far.
"""
import argparse
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 32, 4)
        self.conv2 = nn.Conv2d(32, 64, 4)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(1024, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout1(torch.flatten(x, 1))
        x = self.dropout2(F.relu(self.fc1(x)))
        return F.log_softmax(self.fc2(x), dim=1)


class MNIST(torch.utils.data.Dataset):
    def __init__(self, root, train):
        name = 'train' if train else 't10k'
        with open(os.path.join(root, name + '-images-idx3-ubyte'), 'rb') as file:
            images = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8, offset=16)
        with open(os.path.join(root, name + '-labels-idx1-ubyte'), 'rb') as file:
            self.targets = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8, offset=8)
        self.data = images.view(-1, 1, 28, 28)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        image = (self.data[index].float() / 255 - 0.1307) / 0.3081
        return image, int(self.targets[index])


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print('Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}'.format(
                epoch, batch_idx * len(data), len(train_loader.dataset),
                100. * batch_idx / len(train_loader), loss.item()))
            if args.dry_run:
                break


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction='sum').item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()

    test_loss /= len(test_loader.dataset)

    print('\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n'.format(
        test_loss, correct, len(test_loader.dataset),
        100. * correct / len(test_loader.dataset)))


def main():
    cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
    parser = argparse.ArgumentParser(description='PyTorch MNIST Example')
    parser.add_argument('--data', default=os.path.join(cache, 'sweetspot', 'mnist'), metavar='DIR',
                        help="folder with the IDX files ('sweetspot data fetch mnist' brings them)")
    parser.add_argument('--batch-size', type=int, default=64, metavar='N',
                        help='input batch size for training (default: 64)')
    parser.add_argument('--test-batch-size', type=int, default=1000, metavar='N',
                        help='input batch size for testing (default: 1000)')
    parser.add_argument('--epochs', type=int, default=14, metavar='N',
                        help='number of epochs to train (default: 14)')
    parser.add_argument('--lr', type=float, default=1.0, metavar='LR',
                        help='learning rate (default: 1.0)')
    parser.add_argument('--gamma', type=float, default=0.7, metavar='M',
                        help='learning rate step gamma (default: 0.7)')
    parser.add_argument('--workers', type=int, default=0, metavar='N',
                        help='processes that load data (default: 0, the training itself)')
    parser.add_argument('--no-cuda', action='store_true', default=False,
                        help='disables CUDA training')
    parser.add_argument('--dry-run', action='store_true', default=False,
                        help='quickly check a single pass')
    parser.add_argument('--seed', type=int, default=1, metavar='S', help='random seed (default: 1)')
    parser.add_argument('--log-interval', type=int, default=10, metavar='N',
                        help='how many batches to wait before logging training status')
    parser.add_argument('--save-model', action='store_true', default=False,
                        help='For Saving the current Model')
    args = parser.parse_args()
    use_cuda = not args.no_cuda and torch.cuda.is_available()

    torch.manual_seed(args.seed)
    device = torch.device('cuda' if use_cuda else 'cpu')

    train_loader = torch.utils.data.DataLoader(
        MNIST(args.data, train=True), batch_size=args.batch_size, shuffle=True,
        num_workers=args.workers, pin_memory=use_cuda)
    test_loader = torch.utils.data.DataLoader(
        MNIST(args.data, train=False), batch_size=args.test_batch_size, num_workers=args.workers,
        pin_memory=use_cuda)

    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)

    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)
        scheduler.step()

    if args.save_model:
        torch.save(model.state_dict(), 'mnist_cnn.pt')


if __name__ == '__main__':
    main()
