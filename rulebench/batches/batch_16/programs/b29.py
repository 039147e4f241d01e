"""RankNet on synthetic queries, evaluated with NDCG@5."""
import argparse
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def queries(n, docs=12, feat=10, seed=0):
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(42).normal(size=feat)
    x = rng.normal(size=(n, docs, feat)) + 2 * rng.normal(size=(n, 1, feat))
    centred = x - x.mean(1, keepdims=True)
    s = centred @ w + 1.5 * np.abs(centred[..., 0]) + rng.normal(scale=0.7, size=(n, docs))
    rank = s.argsort(1).argsort(1)
    rel = np.select([rank >= docs - 1, rank >= docs - 3, rank >= docs - 6], [3, 2, 1], 0)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(rel, dtype=torch.float32)


class Scorer(nn.Module):
    def __init__(self, feat, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * feat, hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU(),
                                 nn.Linear(hidden, 1, bias=False))

    def forward(self, x):
        ctx = x.mean(1, keepdim=True).expand_as(x)
        return self.net(torch.cat([x, ctx], -1)).squeeze(-1)


def pairwise_loss(s, rel):
    ds = s.unsqueeze(2) - s.unsqueeze(1)
    better = rel.unsqueeze(2) > rel.unsqueeze(1)
    return F.softplus(-ds)[better].mean()


def ndcg(s, rel, k=5):
    disc = 1 / torch.log2(torch.arange(k) + 2.0)
    gain = 2 ** rel - 1
    got = (gain.gather(1, s.argsort(1, descending=True)[:, :k]) * disc).sum(1)
    best = (gain.sort(1, descending=True).values[:, :k] * disc).sum(1)
    return (got / best).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--accum", type=int, default=2)
    ap.add_argument("--hidden", type=int, default=48)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    xtr, rtr = queries(960, seed=0)
    xte, rte = queries(300, seed=1)
    model = Scorer(xtr.shape[-1], args.hidden)
    opt = torch.optim.NAdam(model.parameters(), lr=args.lr)
    print("ndcg@5 before", round(ndcg(model(xte).detach(), rte), 3))
    for epoch in range(args.epochs):
        tot = 0.0
        chunks = torch.randperm(len(xtr)).split(args.batch)
        for k, b in enumerate(chunks, 1):
            loss = pairwise_loss(model(xtr[b]), rtr[b])
            (loss / args.accum).backward()
            if k % args.accum == 0 or k == len(chunks):
                opt.step()
                opt.zero_grad()
            tot += loss.item()
        if epoch % 3 == 2:
            with torch.no_grad():
                print(f"epoch {epoch + 1} loss {tot / len(chunks):.4f} ndcg@5 {ndcg(model(xte), rte):.3f}")


if __name__ == "__main__":
    main()
