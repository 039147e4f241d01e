"""Two-layer GCN for node classification on a citation-like graph."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def citation_graph(n=600, classes=4, feat=24, p_in=0.03, p_out=0.002, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    prob = np.where(y[:, None] == y[None, :], p_in, p_out)
    upper = np.triu(rng.random((n, n)) < prob, 1)
    edges = np.argwhere(upper)
    centers = rng.normal(0, 0.35, (classes, feat))
    x = centers[y] + rng.normal(0, 1, (n, feat))
    return x.astype(np.float32), y, edges


def build_edge_index(edges):
    ei = torch.from_numpy(edges).reshape(2, -1)
    return torch.cat([ei, ei.flip(0)], dim=1)


def normalise(edge_index, n):
    loops = torch.arange(n).repeat(2, 1)
    ei = torch.cat([edge_index, loops], 1)
    deg = torch.zeros(n).index_add_(0, ei[1], torch.ones(ei.size(1)))
    w = deg[ei[0]].rsqrt() * deg[ei[1]].rsqrt()
    return ei, w


class GCNConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(d_out))

    def forward(self, x, ei, w):
        x = self.lin(x)
        out = torch.zeros_like(x).index_add_(0, ei[1], x[ei[0]] * w[:, None])
        return out + self.bias


class GCN(nn.Module):
    def __init__(self, d_in, hidden, classes, dropout):
        super().__init__()
        self.c1 = GCNConv(d_in, hidden)
        self.c2 = GCNConv(hidden, classes)
        self.p = dropout

    def forward(self, x, ei, w):
        x = F.dropout(x, self.p, self.training)
        x = F.relu(self.c1(x, ei, w))
        x = F.dropout(x, self.p, self.training)
        return self.c2(x, ei, w)


def accuracy(logits, y, mask):
    return (logits[mask].argmax(1) == y[mask]).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--wd", type=float, default=5e-4)
    ap.add_argument("--dropout", type=float, default=0.4)
    ap.add_argument("--per-class", type=int, default=20)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, y, edges = citation_graph()
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    ei, w = normalise(build_edge_index(edges), len(y))

    train_mask = torch.zeros(len(y), dtype=torch.bool)
    for c in range(4):
        idx = (y == c).nonzero().flatten()
        train_mask[idx[torch.randperm(len(idx))[:args.per_class]]] = True
    rest = (~train_mask).nonzero().flatten()
    rest = rest[torch.randperm(len(rest))]
    val_mask, test_mask = torch.zeros_like(train_mask), torch.zeros_like(train_mask)
    val_mask[rest[:150]] = True
    test_mask[rest[150:]] = True

    model = GCN(x.size(1), args.hidden, 4, args.dropout)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.wd)
    best_val, best_test = 0.0, 0.0
    for ep in range(1, args.epochs + 1):
        model.train()
        loss = F.cross_entropy(model(x, ei, w)[train_mask], y[train_mask])
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            out = model(x, ei, w)
        va, te = accuracy(out, y, val_mask), accuracy(out, y, test_mask)
        if va > best_val:
            best_val, best_test = va, te
        if ep % 25 == 0:
            print(f"epoch {ep} loss {loss.item():.4f} train {accuracy(out, y, train_mask):.3f} val {va:.3f}")
    print(f"best val {best_val:.3f} test at best {best_test:.3f}")


if __name__ == "__main__":
    main()
