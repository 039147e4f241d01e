"""Tone / chirp / noise-burst classifier on raw one-second signals."""
import argparse
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SR = 800
CLASSES = ["tone", "chirp", "am", "burst"]


def synth(kind, rng):
    t = np.arange(SR) / SR
    f = rng.uniform(30, 150)
    phase = rng.uniform(0, 2 * np.pi)
    if kind == 0:
        s = np.sin(2 * np.pi * f * t + phase)
    elif kind == 1:
        s = np.sin(2 * np.pi * (f * t + 0.5 * rng.uniform(80, 150) * t ** 2) + phase)
    elif kind == 2:
        s = np.sin(2 * np.pi * f * t + phase) * (0.5 + 0.5 * np.sin(2 * np.pi * rng.uniform(3, 8) * t))
    else:
        s = np.zeros(SR)
        a = rng.integers(0, SR - 200)
        s[a:a + 200] = rng.normal(0, 1, 200)
    return (s + rng.normal(0, 0.2, SR)).astype(np.float32)


class Signals(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.y = rng.integers(0, len(CLASSES), n)
        self.x = np.stack([synth(k, rng) for k in self.y])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.from_numpy(self.x[i])[None], int(self.y[i])


class ConvNet1d(nn.Module):
    def __init__(self, n_classes, width=16, dropout=0.1):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, width, 15, stride=4, padding=7), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, 2 * width, 9, stride=4, padding=4), nn.BatchNorm1d(2 * width), nn.ReLU(),
            nn.Conv1d(2 * width, 2 * width, 5, stride=2, padding=2), nn.BatchNorm1d(2 * width), nn.ReLU(),
        )
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(4 * width, n_classes)

    def forward(self, x):
        h = self.features(x)
        h = torch.cat([h.mean(-1), h.amax(-1)], 1)
        return self.head(self.drop(h))


def init_weights(m):
    if isinstance(m, (nn.Conv1d, nn.Linear)):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)


def evaluate(model, loader):
    model.eval()
    hit = n = 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x).argmax(1) == y).sum().item()
            n += len(y)
    return hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--width", type=int, default=16)
    ap.add_argument("--seed", type=int, default=1)
    args = ap.parse_args()
    torch.manual_seed(args.seed)

    train = DataLoader(Signals(1000, 0), batch_size=args.batch_size, shuffle=True)
    val = DataLoader(Signals(300, 99), batch_size=128)

    model = ConvNet1d(len(CLASSES), args.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    criterion = nn.CrossEntropyLoss()

    model = ConvNet1d(len(CLASSES), args.width)
    model.apply(init_weights)
    print("parameters:", sum(p.numel() for p in model.parameters()))

    for epoch in range(args.epochs):
        model.train()
        tot = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            tot += loss.item()
        scheduler.step()
        print(f"epoch {epoch + 1} loss {tot / len(train):.4f} val acc {evaluate(model, val):.3f}")


if __name__ == "__main__":
    main()
