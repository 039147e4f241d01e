"""Listwise (ListNet) learning to rank on synthetic queries; lists of different length, padded."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_queries(n, max_docs=20, n_feat=12, seed=0):
    g = torch.Generator().manual_seed(seed)
    w = torch.linspace(-1, 1, n_feat)
    x = torch.randn(n, max_docs, n_feat, generator=g)
    u = x @ w + 1.5 * torch.relu(x[..., 0] * x[..., 1]) + 0.5 * torch.randn(n, max_docs, generator=g)
    rel = torch.bucketize(u, torch.tensor([0.5, 1.8, 3.2, 4.5])).float()
    size = torch.randint(8, max_docs + 1, (n, 1), generator=g)
    mask = torch.arange(max_docs)[None, :] < size
    shift = torch.randn(n, 1, 3, generator=g) * 2
    x = torch.cat([x, shift.expand(-1, max_docs, -1)], dim=-1)
    return x, rel * mask, mask


class Scorer(nn.Module):
    def __init__(self, n_feat, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_feat, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.head = nn.Linear(hidden, 1, bias=False)
        nn.init.zeros_(self.head.weight)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


def listnet(scores, rel, mask, temperature=1.0):
    scores = scores.masked_fill(~mask, -1e9)
    target = F.softmax((rel / temperature).masked_fill(~mask, -1e9), dim=1)
    logp = F.log_softmax(scores, dim=1)
    return -(target * logp).sum(1).mean()


def ndcg(scores, rel, mask, k=5):
    s = scores.masked_fill(~mask, -1e9)
    disc = 1 / torch.log2(torch.arange(k) + 2.0)
    gains = (2 ** rel - 1).gather(1, s.topk(k, dim=1).indices)
    ideal = (2 ** rel - 1).topk(k, dim=1).values
    best = (ideal * disc).sum(1)
    ok = best > 0
    return ((gains * disc).sum(1)[ok] / best[ok]).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    xtr, rtr, mtr = make_queries(1000, seed=0)
    xte, rte, mte = make_queries(300, seed=1)
    model = Scorer(xtr.size(-1))
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    warm = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=50)
    random_order = ndcg(torch.rand(mte.shape), rte, mte)
    print(f"ndcg@5 of a random order {random_order:.3f}")
    for epoch in range(args.epochs):
        total = 0.0
        for b in torch.randperm(len(xtr)).split(args.batch):
            loss = listnet(model(xtr[b]), rtr[b], mtr[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            warm.step()
            total += loss.item() * len(b)
        if (epoch + 1) % 4 == 0:
            with torch.no_grad():
                s = model(xte)
            print(f"epoch {epoch + 1} loss {total / len(xtr):.4f} test ndcg@5 {ndcg(s, rte, mte):.3f}")


if __name__ == "__main__":
    main()
