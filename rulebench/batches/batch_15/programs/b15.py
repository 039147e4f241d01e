"""Matrix factorisation with BPR on implicit feedback; sparse embedding gradients."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def interactions(users, items, per_user, seed):
    rng = np.random.default_rng(seed)
    U, V = rng.standard_normal((users, 6)), rng.standard_normal((items, 6))
    score = U @ V.T * 1.3 + rng.gumbel(size=(users, items))
    order = np.argsort(-score, 1)[:, :per_user]
    for u in range(users):
        rng.shuffle(order[u])
    return order[:, :-1], order[:, -1]


class BPR(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.u = nn.Embedding(users, dim, sparse=True)
        self.i = nn.Embedding(items, dim, sparse=True)
        self.b = nn.Embedding(items, 1, sparse=True)
        nn.init.normal_(self.u.weight, std=0.1)
        nn.init.normal_(self.i.weight, std=0.1)
        nn.init.zeros_(self.b.weight)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(-1) + self.b(i).squeeze(-1)

    @torch.no_grad()
    def all_scores(self):
        return self.u.weight @ self.i.weight.T + self.b.weight.squeeze(1)


def sample_negatives(u, seen, items):
    neg = torch.randint(0, items, u.shape)
    for _ in range(5):
        bad = seen[u, neg]
        if not bad.any():
            break
        neg = torch.where(bad, torch.randint(0, items, u.shape), neg)
    return neg


def hit_rate(model, seen, held, k):
    s = model.all_scores().masked_fill(seen, float("-inf"))
    top = s.topk(k, 1).indices
    return (top == held.unsqueeze(1)).any(1).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=500)
    ap.add_argument("--items", type=int, default=300)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--reg", type=float, default=0.01)
    args = ap.parse_args()
    torch.manual_seed(0)
    tr, held = interactions(args.users, args.items, 21, 0)
    held = torch.tensor(held)
    pairs = torch.stack([torch.arange(args.users).repeat_interleave(tr.shape[1]), torch.tensor(tr).flatten()], 1)
    seen = torch.zeros(args.users, args.items, dtype=torch.bool)
    seen[pairs[:, 0], pairs[:, 1]] = True
    model = BPR(args.users, args.items, 16)
    opt = torch.optim.SparseAdam(list(model.parameters()), lr=5e-3)
    print("hit@20 of random scores", round(hit_rate(model, seen, held, 20), 4))
    for epoch in range(args.epochs):
        tot = n = 0
        for b in pairs[torch.randperm(len(pairs))].split(256):
            u, i = b[:, 0], b[:, 1]
            j = sample_negatives(u, seen, args.items)
            reg = (model.u(u) ** 2).sum(1) + (model.i(i) ** 2).sum(1) + (model.i(j) ** 2).sum(1)
            loss = (-F.logsigmoid(model(u, i) - model(u, j)) + args.reg * reg).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(b)
            n += len(b)
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1} loss {tot / n:.4f} hit@20 {hit_rate(model, seen, held, 20):.4f}")


if __name__ == "__main__":
    main()
