"""Trains a small convolutional network on synthetic digits, in the style of the MNIST example."""

import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F  # noqa: N812
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, 1)
        self.conv2 = nn.Conv2d(12, 24, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(3456, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(self.dropout1(x), 1)
        x = F.relu(self.fc1(x))
        x = self.fc2(self.dropout2(x))
        return F.log_softmax(x, dim=1)


def synthetic_digits(count):
    labels = torch.randint(0, 10, (count,))
    shapes = F.interpolate(torch.rand(10, 1, 7, 7), size=28, mode="bilinear")
    images = shapes[labels] + 0.3 * torch.randn(count, 1, 28, 28)
    return TensorDataset((images - 0.5) / 0.4, labels)


def main():
    parser = argparse.ArgumentParser(description="Synthetic MNIST")
    parser.add_argument("--steps", type=int, default=300, help="optimizer steps")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    dataset = synthetic_digits(3200)
    train_loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)

    warmup = max(1, min(20, args.steps // 10))
    log_interval = max(1, args.steps // 10)
    step, epoch = 0, 0
    start = time.perf_counter()
    model.train()
    while step < args.steps:
        epoch += 1
        for data, target in train_loader:
            if step == warmup:
                start = time.perf_counter()
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()
            step += 1
            if step % log_interval == 0:
                print(f"Train Epoch: {epoch} [{step}/{args.steps}]\tLoss: {loss.item():.6f}")
            if step == args.steps:
                break
        scheduler.step()

    elapsed = time.perf_counter() - start
    print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={loss.item()!r}")


if __name__ == "__main__":
    main()
