"""Batch-hard triplet embedding of noisy handwritten digits; nearest-neighbour retrieval on held-out images."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Embedder(nn.Module):
    def __init__(self, dim_in=64, dim_out=16, hidden=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim_in, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, dim_out),
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class PKSampler:
    """P classes, K examples of each."""

    def __init__(self, labels, p, k, steps, seed=0):
        self.by_class = {int(c): np.flatnonzero(labels == c) for c in np.unique(labels)}
        self.p, self.k, self.steps = p, k, steps
        self.rng = np.random.default_rng(seed)

    def __iter__(self):
        for _ in range(self.steps):
            classes = self.rng.choice(list(self.by_class), self.p, replace=False)
            yield np.concatenate([self.rng.choice(self.by_class[c], self.k, replace=False) for c in classes])


def pairwise(e):
    sq = (2 - 2 * e @ e.t()).clamp(min=1e-8)
    return sq.sqrt()


def batch_hard_triplet(e, labels, margin):
    d = pairwise(e)
    same = labels[:, None] == labels[None, :]
    hardest_pos = (d * same.float()).max(dim=1).values
    neg_d = d * (~same).float()
    hardest_neg = neg_d.min(dim=1).values
    return F.relu(hardest_pos - hardest_neg + margin).mean()


@torch.no_grad()
def recall_at_1(model, x, y):
    model.eval()
    d = pairwise(model(x))
    d.fill_diagonal_(1e9)
    model.train()
    return (y[d.argmin(1)] == y).float().mean().item()


@torch.no_grad()
def separation(model, x, y):
    d = pairwise(model(x))
    same = y[:, None] == y[None, :]
    return d[same].mean().item(), d[~same].mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=800)
    ap.add_argument("--p", type=int, default=8)
    ap.add_argument("--k", type=int, default=4)
    ap.add_argument("--margin", type=float, default=0.5)
    ap.add_argument("--lr", type=float, default=3e-4)
    args = ap.parse_args()

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0 + 0.15 * rng.normal(size=x.shape)).astype(np.float32)
    perm = rng.permutation(len(y))
    x, y = torch.tensor(x[perm]), torch.tensor(y[perm])
    xtr, ytr, xte, yte = x[:1200], y[:1200], x[1200:], y[1200:]

    model = Embedder()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    print("recall@1 before training", round(recall_at_1(model, xte, yte), 3))
    sampler = PKSampler(ytr.numpy(), args.p, args.k, args.steps)
    for step, idx in enumerate(sampler):
        loss = batch_hard_triplet(model(xtr[idx]), ytr[idx], args.margin)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (step + 1) % 100 == 0:
            pos, neg = separation(model, xte, yte)
            print(f"step {step + 1} loss {loss.item():.4f} recall@1 {recall_at_1(model, xte, yte):.3f} "
                  f"mean dist same {pos:.4f} other {neg:.4f}")


if __name__ == "__main__":
    main()
