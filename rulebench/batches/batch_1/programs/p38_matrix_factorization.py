"""Explicit-feedback matrix factorisation; sparse embeddings -> SparseAdam, biases -> Adam."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(5)
rng = np.random.default_rng(5)
U, I, R = 400, 300, 4
pu, qi = rng.normal(0, 0.7, (U, R)), rng.normal(0, 0.7, (I, R))
bu, bi = rng.normal(0, 0.3, U), rng.normal(0, 0.4, I)
pop = rng.zipf(1.6, I).astype(float); pop = np.minimum(pop, 30); pop /= pop.sum()
us = rng.integers(0, U, 24000)
it = rng.choice(I, 24000, p=pop)
r = np.clip(np.round(2 * (3.4 + bu[us] + bi[it] + (pu[us] * qi[it]).sum(1) + rng.normal(0, 0.3, 24000))) / 2, 0.5, 5)
us, it, r = torch.tensor(us), torch.tensor(it), torch.tensor(r, dtype=torch.float32)
ntr = 20000


class MF(nn.Module):
    def __init__(self, k=6):
        super().__init__()
        self.P = nn.Embedding(U, k, sparse=True)
        self.Q = nn.Embedding(I, k, sparse=True)
        self.bu = nn.Embedding(U, 1)
        self.bi = nn.Embedding(I, 1)
        self.mu = nn.Parameter(torch.tensor(0.0))
        nn.init.normal_(self.P.weight, std=0.1)
        nn.init.normal_(self.Q.weight, std=0.1)
        nn.init.zeros_(self.bu.weight)
        nn.init.zeros_(self.bi.weight)

    def forward(self, u, i):
        return self.mu + self.bu(u).squeeze(-1) + self.bi(i).squeeze(-1) + (self.P(u) * self.Q(i)).sum(-1)


m = MF()
with torch.no_grad():
    m.mu.fill_(r[:ntr].mean())
opt_sparse = torch.optim.SparseAdam([m.P.weight, m.Q.weight], lr=5e-3)
opt_dense = torch.optim.Adam([m.bu.weight, m.bi.weight, m.mu], lr=5e-3)
for epoch in range(12):
    se = 0.0
    for b in torch.randperm(ntr).split(128):
        err = m(us[b], it[b]) - r[b]
        loss = (err ** 2).mean() + 0.02 * ((m.P(us[b]) ** 2).sum(1) + (m.Q(it[b]) ** 2).sum(1)).mean()
        opt_sparse.zero_grad(); opt_dense.zero_grad()
        loss.backward()
        opt_sparse.step(); opt_dense.step()
        se += (err.detach() ** 2).sum().item()
    with torch.no_grad():
        v = ((m(us[ntr:], it[ntr:]) - r[ntr:]) ** 2).mean().sqrt().item()
    print(f"epoch {epoch:2d} train rmse {(se / ntr) ** .5:.4f} test rmse {v:.4f}")
print("std of test ratings", r[ntr:].std().item())
