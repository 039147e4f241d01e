"""Electricity demand bands: one net, three quantile heads (5 %, 50 %, 95 %), pinball loss."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(8)
torch.manual_seed(8)
n = 4000
hour = rng.uniform(0, 24, n)
temp = rng.normal(12, 7, n)
X = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), (temp - 12) / 7], 1)
base = 3 + X[:, 0] - 0.5 * X[:, 1] + 0.3 * X[:, 2] ** 2
y = base + (0.15 + 0.35 * (X[:, 1] < 0)) * rng.gumbel(size=n)       # skewed, heteroscedastic
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
Q = torch.tensor([0.05, 0.5, 0.95])


class Bands(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.LeakyReLU(), nn.Linear(48, 48), nn.LeakyReLU())
        self.out = nn.Linear(48, 3)

    def forward(self, x):
        o = self.out(self.trunk(x))
        # median plus positive offsets, so the bands cannot cross
        lo = o[:, 1] - nn.functional.softplus(o[:, 0])
        hi = o[:, 1] + nn.functional.softplus(o[:, 2])
        return torch.stack([lo, o[:, 1], hi], 1)


def pinball(pred, target):
    e = target[:, None] - pred
    return torch.maximum(Q * e, (Q - 1) * e).mean()


net = Bands()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for epoch in range(25):
    for idx in torch.randperm(3200).split(64):
        loss = pinball(net(X[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 4 == 0:
        with torch.no_grad():
            p = net(X[3200:])
            cov = (y[3200:, None] < p).float().mean(0)
        print(f"epoch {epoch:2d} pinball {loss.item():.4f} share below: {[round(c, 3) for c in cov.tolist()]}")
