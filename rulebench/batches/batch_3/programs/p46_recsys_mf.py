"""Matrix factorisation with sparse embedding gradients (synthetic ratings)."""
import numpy as np
import torch
from torch import nn

SEED = 0
N_USERS, N_ITEMS, RANK, N_OBS = 800, 400, 6, 60000


class MF(nn.Module):
    def __init__(self, mean):
        super().__init__()
        self.u = nn.Embedding(N_USERS, 16, sparse=True)
        self.v = nn.Embedding(N_ITEMS, 16, sparse=True)
        self.bu = nn.Embedding(N_USERS, 1, sparse=True)
        self.bv = nn.Embedding(N_ITEMS, 1, sparse=True)
        for e in (self.u, self.v):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bv):
            nn.init.zeros_(e.weight)
        self.register_buffer("mean", torch.tensor(mean))

    def forward(self, i, j):
        inter = (self.u(i) * self.v(j)).sum(-1)
        return self.mean + inter + self.bu(i).squeeze(-1) + self.bv(j).squeeze(-1)


def make_ratings(rng):
    P, Q = rng.normal(size=(N_USERS, RANK)), rng.normal(size=(N_ITEMS, RANK))
    i = rng.integers(0, N_USERS, N_OBS)
    j = (N_ITEMS * rng.beta(1, 2, N_OBS)).astype(int)          # popular items come first
    r = 3.5 + 0.35 * (P[i] * Q[j]).sum(1) + 0.3 * rng.normal(size=N_OBS)
    return torch.tensor(i), torch.tensor(j), torch.tensor(np.clip(r, 1, 5), dtype=torch.float32)


def run():
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    i, j, r = make_ratings(rng)
    n = int(0.85 * N_OBS)
    model = MF(r[:n].mean().item())
    opt = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
    best, bad = np.inf, 0
    for epoch in range(40):
        tot = 0.0
        for b in torch.randperm(n).split(1024):
            loss = (model(i[b], j[b]) - r[b]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(b)
        with torch.no_grad():
            val = (model(i[n:], j[n:]) - r[n:]).pow(2).mean().sqrt().item()
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d} train rmse {np.sqrt(tot / n):.4f} val rmse {val:.4f}")
        if val < best - 1e-4:
            best, bad = val, 0
            keep = {k: w.clone() for k, w in model.state_dict().items()}
        else:
            bad += 1
            if bad == 3:
                print("early stop at", epoch)
                break
    model.load_state_dict(keep)
    print(f"best val rmse {best:.4f}; predicting the mean gives {r[n:].std().item():.4f}")


run()
