"""RankNet on synthetic query-document lists with NDCG@5."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_queries(n, docs, d, seed):
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(123).normal(size=d)
    x = rng.normal(size=(n, docs, d)) + rng.normal(size=(n, 1, d)) * 2
    s = np.tanh(x - x.mean(1, keepdims=True)) @ w + rng.normal(0, 0.5, (n, docs))
    rel = np.digitize(s, np.quantile(s, [0.5, 0.75, 0.9, 0.97]))
    x = x - x.mean(1, keepdims=True)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(rel)


class Scorer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def ranknet(s, rel):
    ds = s[:, :, None] - s[:, None, :]
    pairs = rel[:, :, None] > rel[:, None, :]
    return F.softplus(-ds[pairs]).mean()


def dcg(rel):
    return ((2.0 ** rel - 1) / torch.log2(torch.arange(rel.size(1)) + 2.0)).sum(1)


@torch.no_grad()
def ndcg(model, x, rel, k=5):
    order = model(x).argsort(1, descending=True)
    got = dcg(rel.gather(1, order)[:, :k].float())
    best = dcg(rel.sort(1, descending=True).values[:, :k].float())
    keep = best > 0
    return (got[keep] / best[keep]).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--queries", type=int, default=600)
    ap.add_argument("--docs", type=int, default=15)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    x, r = make_queries(a.queries, a.docs, 12, 0)
    xv, rv = make_queries(200, a.docs, 12, 1)
    model = Scorer(12, 48)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr, weight_decay=1e-4)
    print("untrained ndcg@5 %.3f" % ndcg(model, xv, rv))
    for ep in range(a.epochs):
        tot = []
        for b in torch.randperm(len(x)).split(a.batch):
            loss = ranknet(model(x[b]), r[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot.append(loss.item())
        if ep % 5 == 4:
            print(f"epoch {ep + 1} loss {np.mean(tot):.4f} ndcg@5 train {ndcg(model, x, r):.3f} val {ndcg(model, xv, rv):.3f}")


if __name__ == "__main__":
    main()
