"""Two-layer GCN for node classification on a stochastic block model with noisy features."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sbm(n, k, p_in, p_out, feat, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    same = y[:, None] == y[None, :]
    upper = np.triu(rng.random((n, n)) < np.where(same, p_in, p_out), 1)
    src, dst = np.nonzero(upper | upper.T)
    centers = rng.normal(size=(k, feat))
    x = 0.5 * centers[y] + rng.normal(size=(n, feat))
    return (torch.tensor(x, dtype=torch.float32), torch.tensor(np.stack([src, dst])), torch.tensor(y))


def normalized_adjacency(edges, n):
    loops = torch.arange(n).repeat(2, 1)
    idx = torch.cat([edges, loops], dim=1)
    deg = torch.zeros(n).index_add_(0, idx[1], torch.ones(idx.shape[1]))
    w = deg[idx[0]].rsqrt() * deg[idx[1]].rsqrt()
    return torch.sparse_coo_tensor(idx, w, (n, n)).coalesce()


class GCNLayer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(i, o))
        self.bias = nn.Parameter(torch.zeros(o))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, adj, x):
        return torch.sparse.mm(adj, x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, i, h, o, drop):
        super().__init__()
        self.first, self.second, self.drop = GCNLayer(i, h), GCNLayer(h, o), drop

    def forward(self, adj, x):
        x = F.dropout(x, self.drop, self.training)
        x = F.relu(self.first(adj, x))
        x = F.dropout(x, self.drop, self.training)
        return self.second(adj, x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nodes", type=int, default=1200)
    ap.add_argument("--classes", type=int, default=5)
    ap.add_argument("--epochs", type=int, default=300)
    ap.add_argument("--lr", type=float, default=0.01)
    ap.add_argument("--patience", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, edges, y = sbm(args.nodes, args.classes, 0.03, 0.004, 24, 0)
    adj = normalized_adjacency(edges, args.nodes)
    perm = torch.randperm(args.nodes)
    train, val, test = perm[:100], perm[100:400], perm[400:]
    model = GCN(24, 32, args.classes, 0.5)
    opt = torch.optim.Adam([{"params": model.first.parameters(), "weight_decay": 5e-4},
                            {"params": model.second.parameters()}], lr=args.lr)
    best, best_state, since = -1.0, None, 0
    for ep in range(1, args.epochs + 1):
        model.train()
        loss = F.cross_entropy(model(adj, x)[train], y[train])
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.eval()
        with torch.no_grad():
            hit = model(adj, x).argmax(1) == y
        acc = hit[val].float().mean().item()
        since += 1
        if acc > best:
            best, since = acc, 0
            best_state = {k: v.clone() for k, v in model.state_dict().items()}
        if ep % 25 == 0:
            print(f"epoch {ep} train loss {loss.item():.4f} val acc {acc:.3f}")
        if since >= args.patience:
            break
    model.load_state_dict(best_state)
    model.eval()
    with torch.no_grad():
        acc = (model(adj, x).argmax(1) == y)[test].float().mean().item()
    print(f"stopped after {ep} epochs, best val {best:.3f}, test acc {acc:.3f}")


if __name__ == "__main__":
    main()
