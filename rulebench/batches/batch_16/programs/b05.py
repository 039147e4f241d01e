"""Two layer GCN, full batch, semi-supervised node labels on a block model graph."""
import argparse
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def block_model(n=400, classes=4, p_in=0.06, p_out=0.008, feat=16, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    prob = np.where(y[:, None] == y[None], p_in, p_out)
    up = np.triu(rng.random((n, n)) < prob, 1)
    adj = (up | up.T).astype(np.float32)
    centre = rng.normal(size=(classes, feat))
    x = centre[y] * 0.5 + rng.normal(size=(n, feat))
    return torch.tensor(adj), torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def normalise(adj):
    a = adj + torch.eye(len(adj))
    d = a.sum(1).rsqrt()
    return (d[:, None] * a * d[None]).to_sparse()


class GCN(nn.Module):
    def __init__(self, fin, hidden, out, p):
        super().__init__()
        self.w1 = nn.Linear(fin, hidden)
        self.w2 = nn.Linear(hidden, out)
        self.p = p

    def forward(self, a, x):
        h = F.relu(torch.sparse.mm(a, self.w1(x)))
        h = F.dropout(h, self.p, self.training)
        return torch.sparse.mm(a, self.w2(h))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=200)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--wd", type=float, default=5e-4)
    ap.add_argument("--per-class", type=int, default=10)
    args = ap.parse_args()
    torch.manual_seed(0)
    adj, x, y = block_model()
    a = normalise(adj)
    mask = torch.zeros(len(y), dtype=torch.bool)
    for c in range(4):
        mask[torch.where(y == c)[0][:args.per_class]] = True
    model = GCN(x.shape[1], 32, 4, 0.5)
    opt = torch.optim.Adam([
        {"params": model.w1.parameters(), "weight_decay": args.wd},
        {"params": model.w2.parameters(), "weight_decay": 0.0}], lr=args.lr)
    for step in range(1, args.steps + 1):
        model.train()
        opt.zero_grad()
        loss = F.cross_entropy(model(a, x)[mask], y[mask])
        loss.backward()
        opt.step()
        if step % 40 == 0:
            model.eval()
            with torch.no_grad():
                hit = model(a, x).argmax(1) == y
            print(f"step {step} loss {loss.item():.4f} train {hit[mask].float().mean():.3f} test {hit[~mask].float().mean():.3f}")


if __name__ == "__main__":
    main()
