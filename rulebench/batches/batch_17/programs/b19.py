"""Triplet-loss embedding of digits, evaluated with nearest neighbours."""
import argparse
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch.utils.data import DataLoader, Dataset


class TripletDigits(Dataset):
    def __init__(self, x, y, length, seed=0):
        self.x = torch.tensor(x, dtype=torch.float32)
        self.y = np.asarray(y)
        self.by_class = {c: np.flatnonzero(self.y == c) for c in np.unique(self.y)}
        self.rng = np.random.default_rng(seed)
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, _):
        a = self.rng.integers(len(self.x))
        c = self.y[a]
        p = self.rng.choice(self.by_class[c])
        other = self.rng.choice([k for k in self.by_class if k != c])
        n = self.rng.choice(self.by_class[other])
        return self.x[a], self.x[p], self.x[n]


class Embedder(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=-1)


class Trainer:
    def __init__(self, model, lr, margin):
        self.model = model
        self.criterion = nn.TripletMarginLoss(margin=margin)
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, loader):
        self.model.train()
        tot, n = 0.0, 0
        for anchor, pos, neg in loader:
            za, zp, zn = self.model(anchor), self.model(pos), self.model(neg)
            loss = self.criterion(za, zn, zp)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            tot += loss.item() * len(anchor)
            n += len(anchor)
        return tot / n

    @torch.no_grad()
    def embed(self, x):
        self.model.eval()
        return self.model(torch.tensor(x, dtype=torch.float32)).numpy()


def knn_accuracy(trainer, xa, ya, xb, yb):
    knn = KNeighborsClassifier(5).fit(trainer.embed(xa), ya)
    return knn.score(trainer.embed(xb), yb)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--margin", type=float, default=0.4)
    args = ap.parse_args()
    torch.manual_seed(0)
    d = load_digits()
    x, y = d.data / 16.0, d.target
    xtr, ytr, xte, yte = x[:1200], y[:1200], x[1200:], y[1200:]
    loader = DataLoader(TripletDigits(xtr, ytr, 3200), batch_size=args.batch_size)
    trainer = Trainer(Embedder(), args.lr, args.margin)
    print("before training knn", round(knn_accuracy(trainer, xtr, ytr, xte, yte), 4))
    for ep in range(args.epochs):
        l = trainer.epoch(loader)
        print(f"epoch {ep} triplet loss {l:.4f} knn acc {knn_accuracy(trainer, xtr, ytr, xte, yte):.4f}")


if __name__ == "__main__":
    main()
