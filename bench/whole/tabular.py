"""Trains a two-layer network on a synthetic table, as a first PyTorch tutorial does."""

import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812
import torch.optim as optim

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=5000, help="optimizer steps")
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args()

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc2 = nn.Linear(hidden, classes)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc2(x)


# a table of 20 columns; the label depends on some of them, with noise
X = torch.randn(8192, 20)
score = X[:, 0] * X[:, 1] + X[:, 2] - 0.5 * X[:, 3] + 0.3 * torch.randn(8192)
y = (score > 0).long()

net = Net(20, 64, 2)
criterion = nn.CrossEntropyLoss()
optimizer = optim.Adam(net.parameters(), lr=args.lr)

warmup = max(1, min(20, args.steps // 10))
log_every = max(1, args.steps // 10)
start = time.perf_counter()

for step in range(args.steps):
    if step == warmup:
        start = time.perf_counter()

    idx = torch.randint(0, len(X), (args.batch_size,))
    inputs, labels = X[idx], y[idx]

    optimizer.zero_grad()
    outputs = net(inputs)
    loss = criterion(outputs, labels)
    loss.backward()
    optimizer.step()

    if (step + 1) % log_every == 0:
        print(f"step {step + 1:5d}/{args.steps}  loss {loss.item():.4f}")

last_loss = loss.item()
elapsed = time.perf_counter() - start

with torch.no_grad():
    accuracy = (net(X).argmax(1) == y).float().mean().item()
print(f"accuracy on all rows: {accuracy:.3f}")
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={last_loss!r}")
