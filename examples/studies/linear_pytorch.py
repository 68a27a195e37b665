"""A linear model in PyTorch with a tqdm bar; it knows nothing of sweetspot."""
import argparse

import torch
from tqdm import tqdm

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=1000)
args = parser.parse_args()

inputs = torch.randn(65536, 10)
labels = inputs.sum(dim=1, keepdim=True)
data = torch.utils.data.TensorDataset(inputs, labels)
# Whole batches from one tensor: fetching sample by sample would dominate the measurement.
batches = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(data), args.batch_size, True)
loader = torch.utils.data.DataLoader(data, sampler=batches, batch_size=None)

model = torch.nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
loss_of = torch.nn.MSELoss()
for epoch in range(args.epochs):
    for x, y in tqdm(loader, desc="epoch %d" % epoch):
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()
