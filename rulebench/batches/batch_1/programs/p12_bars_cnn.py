#!/usr/bin/env python
# Simple CNN on synthetic 12x12 images: horizontal bars / vertical bars / crosses / noise
import argparse
import time
import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import TensorDataset, DataLoader


def synth(n, rng):
    x = rng.normal(0, 0.35, (n, 1, 12, 12)).astype("float32")
    y = rng.integers(0, 4, n)
    for i in range(n):
        r, c = rng.integers(1, 11, 2)
        if y[i] in (0, 2):
            x[i, 0, r, :] += 0.9
        if y[i] in (1, 2):
            x[i, 0, :, c] += 0.9
    return torch.from_numpy(x), torch.from_numpy(y)


def get_net(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(width, width * 2, 3, padding=1), nn.ReLU(inplace=True), nn.AdaptiveMaxPool2d(2),
        nn.Flatten(), nn.Linear(width * 8, 4))


def evaluate(net, loader):
    net.eval()
    good = total = 0
    with torch.inference_mode():
        for x, y in loader:
            good += (net(x).argmax(1) == y).sum().item()
            total += len(y)
    net.train()
    return good / total


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--width", type=int, default=10)
    ap.add_argument("--seed", type=int, default=11)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train = DataLoader(TensorDataset(*synth(3000, rng)), batch_size=40, shuffle=True, drop_last=True)
    test = DataLoader(TensorDataset(*synth(600, rng)), batch_size=200)
    net = get_net(args.width)
    crit = nn.CrossEntropyLoss()
    opt = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    t0 = time.time()
    for epoch in range(args.epochs):
        opt.zero_grad()
        total = 0
        for x, y in train:
            out = net(x)
            loss = crit(out, y)
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"[{epoch + 1}/{args.epochs}] loss={total / len(train):.4f} test_acc={evaluate(net, test):.4f} ({time.time() - t0:.1f}s)")


if __name__ == "__main__":
    main()
