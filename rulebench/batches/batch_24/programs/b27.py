#!/usr/bin/env python
"""Train a small CNN on the digits data set."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def get_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--momentum", type=float, default=0.9)
    p.add_argument("--seed", type=int, default=1)
    return p.parse_args()


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(32 * 2 * 2, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


def shift(images):
    """random one-pixel translation of the whole batch"""
    padded = F.pad(images, (1, 1, 1, 1))
    i, j = torch.randint(0, 3, (2,)).tolist()
    return padded[:, :, i:i + 8, j:j + 8]


def train(model, loader, optimizer, scheduler):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(shift(x)), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


@torch.no_grad()
def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        correct += (out.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    return loss / n, correct / n


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(d.target)
    full = torch.utils.data.TensorDataset(x, y)
    train_set, test_set = torch.utils.data.random_split(full, [1400, len(full) - 1400])
    train_loader = torch.utils.data.DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = torch.utils.data.DataLoader(test_set, batch_size=200)
    model = SmallCNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=5e-4, nesterov=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_loader))
    for epoch in range(1, args.epochs + 1):
        tr = train(model, train_loader, optimizer, scheduler)
        te, acc = test(model, test_loader)
        print(f"epoch {epoch:2d}  train {tr:.4f}  test {te:.4f}  acc {acc:.4f}")


if __name__ == "__main__":
    main()
