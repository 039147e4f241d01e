"""Semi-supervised node classification with a two-layer GCN on a stochastic block model."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sbm_graph(n, n_classes, p_in, p_out, n_feat, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    same = y[:, None] == y[None, :]
    prob = np.where(same, p_in, p_out)
    a = np.triu(rng.random((n, n)) < prob, 1)
    a = (a | a.T).astype(np.float32)
    centers = rng.normal(size=(n_classes, n_feat)) * 0.4
    x = centers[y] + rng.normal(size=(n, n_feat))
    return torch.tensor(a), torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def normalize(a):
    a = a + torch.eye(len(a))
    d = a.sum(1).rsqrt()
    return d[:, None] * a * d[None, :]


class GCNLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out, bias=False)
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, a, x):
        return a @ self.lin(x) + self.bias


class GCN(nn.Module):
    def __init__(self, n_feat, hidden, n_classes, dropout):
        super().__init__()
        self.g1 = GCNLayer(n_feat, hidden)
        self.g2 = GCNLayer(hidden, n_classes)
        self.dropout = dropout

    def forward(self, a, x):
        h = F.relu(self.g1(a, x))
        h = F.dropout(h, self.dropout, training=self.training)
        return F.log_softmax(self.g2(a, h), dim=1)


def split(y, per_class, n_classes, g):
    train = []
    for c in range(n_classes):
        idx = (y == c).nonzero().flatten()
        train.append(idx[torch.randperm(len(idx), generator=g)[:per_class[c]]])
    train = torch.cat(train)
    rest = torch.ones(len(y), dtype=torch.bool)
    rest[train] = False
    rest = rest.nonzero().flatten()
    rest = rest[torch.randperm(len(rest), generator=g)]
    return train, rest[:200], rest[200:]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=200)
    ap.add_argument("--hidden", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-2)
    ap.add_argument("--weight-decay", type=float, default=5e-4)
    ap.add_argument("--dropout", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(0)
    a, x, y = sbm_graph(900, 5, 0.03, 0.008, 20, 0)
    a = normalize(a)
    perm = torch.randperm(len(y))
    x, y = x[perm], y[perm]
    tr, va, te = split(y, [8, 30, 12, 40, 16], 5, torch.Generator().manual_seed(0))
    model = GCN(x.shape[1], args.hidden, 5, args.dropout)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    for epoch in range(1, args.epochs + 1):
        model.train()
        opt.zero_grad()
        loss = F.nll_loss(model(a, x)[tr], y[tr])
        loss.backward()
        opt.step()
        if epoch % 20 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(a, x).argmax(1)
            accs = [(pred[i] == y[i]).float().mean().item() for i in (tr, va, te)]
            print(f"epoch {epoch} loss {loss.item():.4f} train {accs[0]:.3f} val {accs[1]:.3f} test {accs[2]:.3f}")


if __name__ == "__main__":
    main()
