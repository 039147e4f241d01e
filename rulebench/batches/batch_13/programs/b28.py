"""Keyword-like tone classification with a small 1-D CNN."""
import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class ToneDataset(Dataset):
    SR = 2000

    def __init__(self, n, n_classes, seed):
        self.rng = np.random.default_rng(seed)
        self.n_classes = n_classes
        self.items = [self._make() for _ in range(n)]

    def _make(self):
        label = int(self.rng.integers(self.n_classes))
        f0 = 120 * (1.22 ** label)
        t = np.arange(400) / self.SR
        phase = self.rng.uniform(0, 2 * np.pi)
        env = np.exp(-t * self.rng.uniform(1, 6))
        sig = env * (np.sin(2 * np.pi * f0 * t + phase) + 0.4 * np.sin(4 * np.pi * f0 * t))
        sig = sig + 0.35 * self.rng.standard_normal(len(t))
        sig = (sig - sig.mean()) / (sig.std() + 1e-6)
        return torch.tensor(sig, dtype=torch.float32).unsqueeze(0), label

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class ToneNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 31, stride=4, padding=15), nn.BatchNorm1d(16), nn.ReLU(),
            nn.Conv1d(16, 32, 9, stride=2, padding=4), nn.BatchNorm1d(32), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten(),
        )
        self.head = nn.Linear(32, n_classes)

    def forward(self, x):
        return self.head(self.features(x))


def evaluate(model, loader):
    model.eval()
    hit = tot = 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x).argmax(1) == y).sum().item()
            tot += len(y)
    return hit / tot


def train_one_epoch(model, loader, optimizer, scheduler, criterion):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--lr-step", type=int, default=5, help="epochs between lr drops")
    p.add_argument("--gamma", type=float, default=0.3)
    p.add_argument("--classes", type=int, default=8)
    args = p.parse_args()

    torch.manual_seed(0)
    train = DataLoader(ToneDataset(1200, args.classes, 0), batch_size=args.batch_size, shuffle=True)
    test = DataLoader(ToneDataset(400, args.classes, 1), batch_size=200)

    model = ToneNet(args.classes)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=args.lr_step, gamma=args.gamma)

    for epoch in range(1, args.epochs + 1):
        loss = train_one_epoch(model, train, optimizer, scheduler, criterion)
        acc = evaluate(model, test)
        print(f"epoch {epoch:2d}  loss {loss:.4f}  test acc {acc:.3f}")


if __name__ == "__main__":
    main()
