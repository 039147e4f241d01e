"""Matrix factorisation for film ratings (homework 4)."""
import torch
import numpy as np

torch.manual_seed(4)
rng = np.random.default_rng(4)
N_USERS, N_ITEMS, RANK = 400, 300, 4
U = rng.normal(0, 0.7, (N_USERS, RANK)); V = rng.normal(0, 0.7, (N_ITEMS, RANK))
bu = rng.normal(0, 0.4, N_USERS); bi = rng.normal(0, 0.4, N_ITEMS)
u = rng.integers(0, N_USERS, 40000); i = rng.integers(0, N_ITEMS, 40000)
r = 3.4 + bu[u] + bi[i] + (U[u] * V[i]).sum(1) + rng.normal(0, 0.3, len(u))
r = np.clip(r, 0.5, 5).astype("float32")
u, i, r = torch.tensor(u), torch.tensor(i), torch.tensor(r)
cut = 34000


class MF(torch.nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.pu = torch.nn.Embedding(N_USERS, k)
        self.qi = torch.nn.Embedding(N_ITEMS, k)
        self.bu = torch.nn.Embedding(N_USERS, 1)
        self.bi = torch.nn.Embedding(N_ITEMS, 1)
        self.mean = torch.nn.Parameter(torch.tensor(3.0))
        for e in (self.pu, self.qi):
            torch.nn.init.normal_(e.weight, std=0.1)
        for e in (self.bu, self.bi):
            torch.nn.init.zeros_(e.weight)

    def forward(self, u, i):
        return (self.pu(u) * self.qi(i)).sum(-1) + self.bu(u).squeeze(-1) + self.bi(i).squeeze(-1) + self.mean


net = MF()
opt = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=1e-5)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.93)

for epoch in range(30):
    p = torch.randperm(cut)
    total = 0
    for s in range(0, cut, 256):
        b = p[s:s + 256]
        loss = ((net(u[b], i[b]) - r[b]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item() * len(b)
    rmse = ((net(u[cut:], i[cut:]) - r[cut:]) ** 2).mean().sqrt().item()
    print(f"epoch {epoch:02d}  train mse {total / cut:.4f}  test rmse {rmse:.4f}")
base = (r[cut:] - r[:cut].mean()).pow(2).mean().sqrt().item()
print(f"Final test RMSE {rmse:.4f} (global mean gives {base:.4f})")
