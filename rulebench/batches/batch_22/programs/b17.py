"""Contrastive embedding of digit images (pairs with a same/different label)."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


@dataclass
class Config:
    steps: int = 500
    batch: int = 128
    dim: int = 16
    margin: float = 1.0
    lr: float = 1e-3
    seed: int = 11


class Embedder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(32 * 4, dim),
        )

    def forward(self, x):
        return self.features(x)


def contrastive_loss(a, b, same, margin):
    dist = torch.sqrt(((a - b) ** 2).sum(dim=1))
    pos = same * dist ** 2
    neg = (1 - same) * torch.relu(margin - dist) ** 2
    return (pos + neg).mean()


def sample_pairs(X, y, n, rng):
    """Half of the pairs share a class."""
    i = rng.integers(0, len(X), n)
    j = rng.integers(0, len(X), n)
    for t in range(0, n, 2):
        j[t] = rng.choice(np.flatnonzero(y == y[i[t]]))
    same = torch.from_numpy((y[i] == y[j]).astype(np.float32))
    return X[i], X[j], same


def knn_accuracy(model, Xtr, ytr, Xte, yte):
    model.eval()
    with torch.no_grad():
        etr = model(Xtr).numpy()
        ete = model(Xte).numpy()
    model.train()
    if not np.isfinite(etr).all():
        return float("nan")
    return KNeighborsClassifier(5).fit(etr, ytr).score(ete, yte)


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    digits = load_digits()
    X = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
    y = digits.target
    order = rng.permutation(len(y))
    tr, te = order[:1300], order[1300:]
    Xtr, ytr, Xte, yte = X[tr], y[tr], X[te], y[te]

    model = Embedder(cfg.dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(1, cfg.steps + 1):
        a, b, same = sample_pairs(Xtr, ytr, cfg.batch, rng)
        loss = contrastive_loss(model(a), model(b), same, cfg.margin)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            acc = knn_accuracy(model, Xtr, ytr, Xte, yte)
            print(f"step {step} loss {loss.item():.4f} knn acc {acc:.4f}")


if __name__ == "__main__":
    main()
