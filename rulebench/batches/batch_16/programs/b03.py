"""Matrix factorisation with biases for explicit ratings."""
import argparse
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def make_ratings(n_users=400, n_items=250, k=3, n=24000, seed=0):
    rng = np.random.default_rng(seed)
    pu = rng.normal(size=(n_users, k))
    qi = rng.normal(size=(n_items, k))
    bu = 0.4 * rng.normal(size=n_users)
    bi = 0.6 * rng.normal(size=n_items)
    u = rng.integers(0, n_users, n)
    i = rng.integers(0, n_items, n)
    r = 3.5 + bu[u] + bi[i] + 0.5 * (pu[u] * qi[i]).sum(1) + 0.25 * rng.normal(size=n)
    return u, i, np.clip(r, 0.5, 6.5)


class Ratings(Dataset):
    def __init__(self, u, i, r):
        self.u = torch.as_tensor(u)
        self.i = torch.as_tensor(i)
        self.r = torch.as_tensor(r, dtype=torch.float32)

    def __len__(self):
        return len(self.r)

    def __getitem__(self, k):
        return self.u[k], self.i[k], self.r[k]


class BiasedMF(nn.Module):
    def __init__(self, n_users, n_items, dim, mean):
        super().__init__()
        n = max(n_users, n_items)
        self.user = nn.Embedding(n, dim)
        self.item = nn.Embedding(n, dim)
        self.user_bias = nn.Embedding(n, 1)
        self.item_bias = nn.Embedding(n, 1)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.item_bias.weight)
        self.mean = mean

    def forward(self, u, i):
        p = self.user(u)
        q = self.item(u)
        b = self.user_bias(u) + self.item_bias(i)
        return self.mean + b.squeeze(-1) + (p * q).sum(-1)


def evaluate(model, loader):
    model.eval()
    se, n = 0.0, 0
    with torch.no_grad():
        for u, i, r in loader:
            se += ((model(u, i) - r) ** 2).sum().item()
            n += len(r)
    return (se / n) ** 0.5


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--dim", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--wd", type=float, default=1e-5)
    args = ap.parse_args()
    torch.manual_seed(0)

    u, i, r = make_ratings()
    n_users, n_items = u.max() + 1, i.max() + 1
    cut = int(0.9 * len(r))
    train = Ratings(u[:cut], i[:cut], r[:cut])
    test = Ratings(u[cut:], i[cut:], r[cut:])
    train_loader = DataLoader(train, batch_size=512, shuffle=True)
    test_loader = DataLoader(test, batch_size=2048)

    model = BiasedMF(n_users, n_items, args.dim, float(r[:cut].mean()))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.wd)
    print("std of test ratings", float(np.std(r[cut:])))
    for epoch in range(args.epochs):
        model.train()
        tot = 0.0
        for ub, ib, rb in train_loader:
            loss = nn.functional.mse_loss(model(ub, ib), rb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(rb)
        print(f"epoch {epoch:2d} train mse {tot / len(train):.4f} test rmse {evaluate(model, test_loader):.4f}")


if __name__ == "__main__":
    main()
