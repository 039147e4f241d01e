"""Semi-supervised GCN on a stochastic block model, full batch."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sbm(n, classes, p_in, p_out, d, seed):
    r = np.random.default_rng(seed)
    y = r.integers(0, classes, n)
    prob = np.where(y[:, None] == y[None], p_in, p_out)
    A = np.triu(r.random((n, n)) < prob, 1)
    A = (A | A.T).astype(np.float32)
    X = r.normal(0, 1, (classes, d))[y] * 0.5 + r.normal(0, 1, (n, d))
    return torch.tensor(A), torch.tensor(X, dtype=torch.float32), torch.tensor(y)


def normalise(A):
    A = A + torch.eye(len(A))
    s = A.sum(1).rsqrt()
    return (s[:, None] * A * s[None]).to_sparse()


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.sparse.mm(adj, x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, d, h, c, dropout):
        super().__init__()
        self.c1, self.c2, self.p = GraphConv(d, h), GraphConv(h, c), dropout

    def forward(self, x, adj):
        x = F.dropout(x, self.p, self.training)
        x = F.dropout(F.relu(self.c1(x, adj)), self.p, self.training)
        return self.c2(x, adj)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--dropout", type=float, default=0.5)
    ap.add_argument("--labels-per-class", type=int, default=12)
    args = ap.parse_args()
    torch.manual_seed(0)
    A, X, y = sbm(900, 5, 0.03, 0.005, 32, 0)
    adj = normalise(A)
    train = torch.zeros(len(y), dtype=torch.bool)
    for c in range(5):
        train[(y == c).nonzero()[:args.labels_per_class, 0]] = True
    rest = (~train).nonzero()[:, 0][torch.randperm(int((~train).sum()))]
    val, test = rest[:200], rest[200:]
    model = GCN(32, args.hidden, 5, args.dropout)
    opt = torch.optim.Adam([{"params": model.c1.parameters(), "weight_decay": 5e-4}, {"params": model.c2.parameters()}], lr=args.lr)
    best_val = best_test = 0.0
    for ep in range(args.epochs):
        model.train()
        opt.zero_grad()
        loss = F.cross_entropy(model(X, adj)[train], y[train])
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            hit = model(X, adj).argmax(1) == y
        va, te = hit[val].float().mean().item(), hit[test].float().mean().item()
        if va > best_val:
            best_val, best_test = va, te
        if ep % 25 == 0:
            print(f"epoch {ep} loss {loss.item():.4f} train {hit[train].float().mean():.3f} val {va:.3f} test {te:.3f}")
    print(f"best val {best_val:.4f} test at best val {best_test:.4f}")


if __name__ == "__main__":
    main()
