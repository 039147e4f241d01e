"""Quantile regression of delivery times."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(8)
rng = np.random.default_rng(8)


def deliveries(n):
    dist = rng.gamma(2.0, 2.0, n)
    items = rng.integers(1, 10, n)
    rush = rng.random(n) < 0.3
    minutes = 20 + 1.5 * dist + 0.5 * items + 3 * rush
    minutes = minutes + rng.gamma(1.5, 6.0 + 4.0 * rush, n)
    feats = np.stack([dist, items, rush], 1)
    return feats.astype(np.float32), minutes.astype(np.float32)


x_train, y_train = deliveries(8000)
x_val, y_val = deliveries(3000)
mu, sd = x_train.mean(0), x_train.std(0)
y_mu, y_sd = y_train.mean(), y_train.std()
x_train, x_val = (torch.from_numpy((a - mu) / sd) for a in (x_train, x_val))
y_train, y_val = (torch.from_numpy((a - y_mu) / y_sd) for a in (y_train, y_val))

quantiles = torch.tensor([0.1, 0.5, 0.9])


def pinball(pred, target):
    diff = target.unsqueeze(1) - pred
    return torch.maximum(quantiles * diff, (quantiles - 1) * diff).mean()


class QuantileNet(nn.Module):
    """Median plus two positive widths, so that the quantiles cannot cross."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
        self.head = nn.Linear(48, 3)

    def forward(self, x):
        mid, lo, hi = self.head(self.trunk(x)).unbind(1)
        return torch.stack([mid - nn.functional.softplus(lo), mid, mid + nn.functional.softplus(hi)], 1)


model = QuantileNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
batch = 16

for epoch in range(12):
    model.train()
    perm = torch.randperm(len(x_train))
    total = 0.0
    for k in range(0, len(perm), batch):
        idx = perm[k:k + batch]
        loss = pinball(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        pred = model(x_val)
        val = pinball(pred, y_val).item()
        cover = [(y_val < pred[:, j]).float().mean().item() for j in range(3)]
    print(f"epoch {epoch + 1:2d} train {total / len(perm):.4f} val {val:.4f} coverage "
          + " ".join(f"{c:.3f}" for c in cover))

const = torch.quantile(y_train, quantiles).expand(len(y_val), 3)
print(f"constant-quantile baseline {pinball(const, y_val).item():.4f}")
