import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sbm_graph(n=600, k=4, p_in=0.03, p_out=0.006, d=24, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    P = np.where(y[:, None] == y[None], p_in, p_out)
    A = np.triu(rng.uniform(size=(n, n)) < P, 1)
    A = (A | A.T).astype("float32")
    X = rng.normal(size=(n, d)).astype("float32")
    X[np.arange(n), y] += 1.2
    return torch.tensor(A), torch.tensor(X), torch.tensor(y)


def normalise(A):
    A = A + torch.eye(len(A))
    d = A.sum(1).rsqrt()
    return d[:, None] * A * d[None]


class GCN(nn.Module):
    def __init__(self, d, h, k, drop):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d, h), nn.Linear(h, k)
        self.drop = drop

    def forward(self, A, X):
        h = F.relu(A @ self.w1(F.dropout(X, self.drop, self.training)))
        return A @ self.w2(F.dropout(h, self.drop, self.training))


def masks(n, n_train, n_val, gen):
    perm = torch.randperm(n, generator=gen)
    tr = torch.zeros(n, dtype=torch.bool)
    va, te = tr.clone(), tr.clone()
    tr[perm[:n_train]] = True
    va[perm[n_train:n_train + n_val]] = True
    te[perm[n_train + n_val:]] = True
    return tr, va, te


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=300)
    ap.add_argument("--hidden", type=int, default=64)
    ap.add_argument("--lr", type=float, default=0.01)
    args = ap.parse_args()
    torch.manual_seed(0)
    A, X, y = sbm_graph()
    A = normalise(A)
    tr, va, te = masks(len(y), 120, 120, torch.Generator().manual_seed(1))
    net = GCN(X.shape[1], args.hidden, 4, 0.2)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr, weight_decay=5e-4)
    for ep in range(args.epochs):
        net.train()
        out = net(A, X)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if ep % 30 == 29:
            net.eval()
            with torch.no_grad():
                pred = net(A, X).argmax(1)
            accs = [(pred[m] == y[m]).float().mean().item() for m in (tr, va, te)]
            print("epoch %d loss %.4f train %.3f val %.3f test %.3f" % (ep + 1, loss.item(), *accs))


if __name__ == "__main__":
    main()
