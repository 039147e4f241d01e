import argparse
import time
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser(description="shape classifier")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=0.02)
    p.add_argument("--gamma", type=float, default=0.85)
    p.add_argument("--seed", type=int, default=9)
    return p.parse_args()


def make_images(n, rng, size=20):
    """Classes: square outline, disc, cross, diagonal stripe, frame corner."""
    X = np.zeros((n, 1, size, size), dtype=np.float32)
    y = rng.integers(0, 5, n)
    yy, xx = np.mgrid[:size, :size]
    for i in range(n):
        c = rng.integers(6, size - 6, 2)
        r = rng.integers(3, 6)
        dy, dx = yy - c[0], xx - c[1]
        cheb = np.maximum(abs(dy), abs(dx))
        if y[i] == 0:
            m = cheb == r
        elif y[i] == 1:
            m = dy ** 2 + dx ** 2 <= r * r
        elif y[i] == 2:
            m = (cheb <= r) & ((dy == 0) | (dx == 0))
        elif y[i] == 3:
            m = (cheb <= r) & (abs(dy - dx) <= 1)
        else:
            m = (cheb <= r) & ((dy == -r) | (dx == -r))
        X[i, 0][m] = 1.0
    X += rng.normal(0, 0.35, X.shape).astype(np.float32)
    return torch.from_numpy(X), torch.from_numpy(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(24 * 25, 64), nn.ReLU(), nn.Linear(64, 5))

    def forward(self, x):
        return self.fc(self.features(x))


def evaluate(model, loader):
    model.eval()
    hit = 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x).argmax(1) == y).sum().item()
    return hit / len(loader.dataset)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    train = DataLoader(TensorDataset(*make_images(1600, rng)), batch_size=args.batch_size, shuffle=True)
    test = DataLoader(TensorDataset(*make_images(600, rng)), batch_size=200)
    model = Net()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=args.gamma)
    for epoch in range(args.epochs):
        model.train()
        start, total = time.time(), 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item() * len(x)
        print(f"epoch {epoch + 1}/{args.epochs} loss {total / len(train.dataset):.4f} "
              f"test acc {evaluate(model, test):.4f} ({time.time() - start:.1f}s)")


if __name__ == "__main__":
    main()
