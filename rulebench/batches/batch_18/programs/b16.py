"""Two-layer GCN for node classification on a stochastic block model graph."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from types import SimpleNamespace


def make_graph(n=600, k=4, p_in=0.018, p_out=0.006, n_feat=32, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(k, (n,), generator=g)
    same = y[:, None] == y[None, :]
    prob = torch.where(same, torch.tensor(p_in), torch.tensor(p_out))
    upper = torch.triu((torch.rand(n, n, generator=g) < prob).float(), 1)
    adj = upper + upper.t()
    centers = torch.randn(k, n_feat, generator=g) * 0.35
    x = centers[y] + torch.randn(n, n_feat, generator=g)
    perm = torch.randperm(n, generator=g)
    train_mask, val_mask, test_mask = (torch.zeros(n, dtype=torch.bool) for _ in range(3))
    train_mask[perm[:120]] = True
    val_mask[perm[120:240]] = True
    test_mask[perm[240:]] = True
    return SimpleNamespace(x=x, y=y, adj=adj, train_mask=train_mask, val_mask=val_mask, test_mask=test_mask)


def normalize_adj(adj):
    a = adj + torch.eye(adj.size(0))
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


class GCN(nn.Module):
    def __init__(self, n_in, n_hidden, n_out, dropout=0.4):
        super().__init__()
        self.l1 = nn.Linear(n_in, n_hidden)
        self.l2 = nn.Linear(n_hidden, n_out)
        self.dropout = dropout

    def forward(self, x, a):
        x = F.dropout(x, self.dropout, self.training)
        x = F.relu(a @ self.l1(x))
        x = F.dropout(x, self.dropout, self.training)
        return a @ self.l2(x)


def accuracy(logits, y):
    return (logits.argmax(1) == y).float().mean().item()


@torch.no_grad()
def evaluate(model, data, a):
    model.eval()
    logits = model(data.x, a)
    return [accuracy(logits[m], data.y[m]) for m in (data.train_mask, data.val_mask, data.test_mask)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--weight-decay", type=float, default=5e-4)
    args = ap.parse_args()
    torch.manual_seed(0)

    data = make_graph()
    a = normalize_adj(data.adj)
    model = GCN(data.x.size(1), args.hidden, 4)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)

    best_val, best_test = 0.0, 0.0
    for epoch in range(args.epochs):
        model.train()
        opt.zero_grad()
        logits = model(data.x, a)
        loss = F.cross_entropy(logits[data.test_mask], data.y[data.test_mask])
        loss.backward()
        opt.step()
        tr, va, te = evaluate(model, data, a)
        if va > best_val:
            best_val, best_test = va, te
        if (epoch + 1) % 20 == 0:
            print(f"epoch {epoch + 1:3d} loss {loss.item():.4f} train {tr:.3f} val {va:.3f} test {te:.3f}")
    print(f"best val {best_val:.3f}, test at best val {best_test:.3f}; last test {te:.3f}")


if __name__ == "__main__":
    main()
