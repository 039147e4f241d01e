# two-tower retrieval, in-batch softmax, recall@10 on held-out interactions
import argparse
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

SEED = 7


def make_data(n_users=1500, n_items=400, dim=12, per_user=20):
    rng = np.random.default_rng(SEED)
    users = rng.normal(size=(n_users, dim)).astype("float32")
    items = rng.normal(size=(n_items, dim)).astype("float32")
    wu = rng.normal(size=(dim, 8)) / np.sqrt(dim)
    wi = rng.normal(size=(dim, 8)) / np.sqrt(dim)
    aff = (users @ wu) @ (items @ wi).T
    aff += rng.gumbel(size=aff.shape) * 0.6
    top = np.argsort(-aff, axis=1)[:, :per_user]
    for row in top:
        rng.shuffle(row)
    return users, items, top[:, :-5], top[:, -5:]


def make_tower(dim, out):
    return nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, out))


class TwoTower(nn.Module):
    """user tower + item tower, both tables have the same number of (standardised) features"""

    def __init__(self, dim=12, out=32, temperature=0.1):
        super().__init__()
        self.towers = nn.ModuleList([make_tower(dim, out)] * 2)
        self.temperature = temperature

    def encode(self, x, side):
        return F.normalize(self.towers[side](x), dim=-1)

    def forward(self, u, i):
        return self.encode(u, 0) @ self.encode(i, 1).T / self.temperature


@torch.no_grad()
def recall_at_k(model, users, items, train, test, k=10):
    model.eval()
    s = model(users, items)
    s.scatter_(1, train, -1e9)            # do not recommend what the user already has
    rec = s.topk(k, dim=1).indices
    hit = (rec[:, :, None] == test[:, None, :]).any(1).float().mean().item()
    model.train()
    return hit


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(SEED)

    users, items, train, test = (torch.from_numpy(a) for a in make_data())
    pairs = torch.stack([torch.arange(len(users)).repeat_interleave(train.shape[1]), train.reshape(-1)], 1)
    model = TwoTower()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    print("before training: recall@10 =", round(recall_at_k(model, users, items, train, test), 4))
    for ep in range(args.epochs):
        perm = torch.randperm(len(pairs))
        run = 0.0
        for b in perm.split(args.batch):
            u, i = pairs[b, 0], pairs[b, 1]
            logits = model(users[u], items[i])
            same = (i[:, None] == i[None, :]) & ~torch.eye(len(b), dtype=torch.bool)
            logits = logits.masked_fill(same, -1e9)     # the same item twice in a batch is no negative
            loss = F.cross_entropy(logits, torch.arange(len(b)))
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item() * len(b)
        print(f"epoch {ep:2d}  loss {run / len(pairs):.4f}  recall@10 "
              f"{recall_at_k(model, users, items, train, test):.4f}")


if __name__ == "__main__":
    main()
