"""Matrix factorization for explicit ratings."""
import argparse
import numpy as np
import pandas as pd
import torch
import torch.nn as nn


def make_ratings(n_users=300, n_items=200, n=16000, seed=0):
    rng = np.random.default_rng(seed)
    U, V = rng.normal(size=(n_users, 4)), rng.normal(size=(n_items, 4))
    bi = rng.normal(scale=0.8, size=n_items)
    u = rng.integers(n_users, size=n)
    i = rng.integers(n_items, size=n)
    r = 3.0 + 0.45 * (U[u] * V[i]).sum(1) + bi[i] + rng.normal(scale=0.2, size=n)
    names = np.array([f"movie_{k:04d}" for k in rng.permutation(n_items)])
    return pd.DataFrame({"user": u, "movie": names[i], "rating": np.clip(r, 0.5, 5.5)})


def split(df, frac, seed):
    df = df.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    cut = int(len(df) * (1 - frac))
    return df.iloc[:cut].copy(), df.iloc[cut:].copy()


def encode(df):
    df["item"], movies = pd.factorize(df["movie"])
    return df, movies


class MF(nn.Module):
    def __init__(self, n_users, n_items, k, mean):
        super().__init__()
        self.u, self.v = nn.Embedding(n_users, k), nn.Embedding(n_items, k)
        self.bu, self.bv = nn.Embedding(n_users, 1), nn.Embedding(n_items, 1)
        self.mean = mean
        for e in (self.u, self.v):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bv):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        dot = (self.u(u) * self.v(i)).sum(1)
        return self.mean + dot + self.bu(u).squeeze(1) + self.bv(i).squeeze(1)


def tensors(df):
    return (torch.tensor(df["user"].to_numpy()), torch.tensor(df["item"].to_numpy()),
            torch.tensor(df["rating"].to_numpy(), dtype=torch.float32))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--dim", type=int, default=8)
    p.add_argument("--epochs", type=int, default=25)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--wd", type=float, default=1e-5)
    args = p.parse_args()
    torch.manual_seed(0)
    train, test = split(make_ratings(), 0.15, 1)
    train, movies = encode(train)
    test, _ = encode(test)
    model = MF(300, 200, args.dim, float(train["rating"].mean()))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.wd)
    u, i, r = tensors(train)
    ut, it, rt = tensors(test)
    print(f"{len(train)} train / {len(test)} test ratings, {len(movies)} movies, constant rmse {rt.std():.3f}")
    for ep in range(1, args.epochs + 1):
        tot = 0.0
        for b in torch.randperm(len(u)).split(256):
            loss = ((model(u[b], i[b]) - r[b]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(b)
        with torch.no_grad():
            rmse = ((model(ut, it) - rt) ** 2).mean().sqrt().item()
        if ep % 5 == 0 or ep == 1:
            print(f"epoch {ep} train rmse {(tot / len(u)) ** 0.5:.3f} test rmse {rmse:.3f}")


if __name__ == "__main__":
    main()
