"""Matrix factorisation recommender with sparse embedding gradients."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    users: int = 400
    items: int = 300
    rank: int = 4
    dim: int = 8
    ratings: int = 24000
    batch: int = 256
    epochs: int = 10
    lr: float = 0.01
    seed: int = 21


def synth(s):
    rng = np.random.default_rng(s.seed)
    u = rng.normal(0, 0.6, (s.users, s.rank))
    v = rng.normal(0, 0.6, (s.items, s.rank))
    bu, bv = rng.normal(0, 0.4, s.users), rng.normal(0, 0.5, s.items)
    pairs = rng.choice(s.users * s.items, s.ratings, replace=False)
    ui, vi = pairs // s.items, pairs % s.items
    r = 3.5 + bu[ui] + bv[vi] + (u[ui] * v[vi]).sum(1) + rng.normal(0, 0.3, s.ratings)
    return torch.tensor(ui), torch.tensor(vi), torch.tensor(np.clip(r, 1, 5), dtype=torch.float32)


class MF(nn.Module):
    def __init__(self, s, mean):
        super().__init__()
        self.user = nn.Embedding(s.users, s.dim, sparse=True)
        self.item = nn.Embedding(s.items, s.dim, sparse=True)
        self.user_bias = nn.Embedding(s.users, 1, sparse=True)
        self.item_bias = nn.Embedding(s.items, 1, sparse=True)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.item_bias.weight)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mean", mean)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(-1)
        return self.mean + self.scale * dot + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


def main():
    s = Settings()
    torch.manual_seed(s.seed)
    u, i, r = synth(s)
    n = int(0.9 * len(r))
    model = MF(s, r[:n].mean())
    loader = DataLoader(TensorDataset(u[:n], i[:n], r[:n]), batch_size=s.batch, shuffle=True)
    emb = [p for name, p in model.named_parameters() if name != "scale"]
    opt_sparse = torch.optim.SparseAdam(emb, lr=s.lr)
    opt_dense = torch.optim.Adam([model.scale], lr=1e-3)

    for epoch in range(s.epochs):
        sse = 0.0
        for ub, ib, rb in loader:
            pred = model(ub, ib)
            loss = ((pred - rb) ** 2).mean()
            opt_sparse.zero_grad()
            opt_dense.zero_grad()
            loss.backward()
            opt_sparse.step()
            opt_dense.step()
            sse += loss.item() * len(rb)
        with torch.no_grad():
            rmse = (model(u[n:], i[n:]) - r[n:]).pow(2).mean().sqrt().item()
        print(f"epoch {epoch + 1} train rmse {np.sqrt(sse / n):.4f} test rmse {rmse:.4f}")
    base = (r[n:] - r[:n].mean()).pow(2).mean().sqrt().item()
    print(f"global-mean baseline rmse {base:.4f}")


if __name__ == "__main__":
    main()
