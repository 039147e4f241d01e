"""BPR matrix factorisation with sparse embeddings; leave-one-out hit rate."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_interactions(n_users=300, n_items=200, per_user=20, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.normal(size=(n_users, 4))
    v = rng.normal(size=(n_items, 4))
    pop = rng.normal(size=n_items) * 0.7
    score = 1.5 * u @ v.T + pop + rng.gumbel(size=(n_users, n_items))
    liked = np.argsort(-score, axis=1)[:, :per_user]
    for row in liked:
        rng.shuffle(row)
    return liked[:, 1:], liked[:, 0]


class BPR(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim, sparse=True)
        self.item = nn.Embedding(n_items, dim, sparse=True)
        self.bias = nn.Embedding(n_items, 1, sparse=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)

    def penalty(self, u, i, j):
        return self.user(u).pow(2).sum(-1).mean() + self.item(i).pow(2).sum(-1).mean() + self.item(j).pow(2).sum(-1).mean()


def sample_negatives(users, seen, n_items, gen):
    neg = torch.randint(n_items, users.shape, generator=gen)
    bad = seen[users, neg]
    while bad.any():
        neg[bad] = torch.randint(n_items, (int(bad.sum()),), generator=gen)
        bad = seen[users, neg]
    return neg


@torch.no_grad()
def hit_rate(model, seen, held_out, k=10):
    s = model.user.weight @ model.item.weight.t() + model.bias.weight.t()
    s = s.masked_fill(seen, -1e9)
    top = s.topk(k, dim=1).indices
    return (top == held_out[:, None]).any(1).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--dim", type=int, default=8)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--reg", type=float, default=0.02)
    args = ap.parse_args()
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    liked, held = make_interactions()
    n_users, n_items = liked.shape[0], 200
    users = torch.arange(n_users).repeat_interleave(liked.shape[1])
    items = torch.tensor(liked).flatten()
    held = torch.tensor(held)
    seen = torch.zeros(n_users, n_items, dtype=torch.bool)
    seen[users, items] = True

    model = BPR(n_users, n_items, args.dim)
    opt = torch.optim.SparseAdam(list(model.parameters()), lr=args.lr)
    print(f"hit@10 before training {hit_rate(model, seen, held):.3f}")
    for epoch in range(args.epochs):
        order = torch.randperm(len(users), generator=gen)
        total = 0.0
        for b in order.split(256):
            u, i = users[b], items[b]
            j = sample_negatives(u, seen, n_items, gen)
            loss = -F.logsigmoid(model(u, i) - model(u, j)).mean() + args.reg * model.penalty(u, i, j)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1} loss {total / len(users):.4f} hit@10 {hit_rate(model, seen, held):.3f}")


if __name__ == "__main__":
    main()
