# Quantile forecasting of an hourly load curve with a GRU
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
rng = np.random.default_rng(3)

LOOKBACK = 36
HORIZON = 1
QUANTILES = (0.1, 0.5, 0.9)


def make_series(n=3600):
    t = np.arange(n)
    daily = np.sin(2 * np.pi * t / 24)
    weekly = 0.6 * np.cos(2 * np.pi * t / 168)
    ar = np.zeros(n)
    for i in range(1, n):
        ar[i] = 0.9 * ar[i - 1] + 0.15 * rng.normal()
    spread = 0.05 + 0.1 * (daily > 0)
    return (daily + weekly + ar + spread * rng.normal(size=n)).astype("float32")


def windows(series):
    X, y = [], []
    for i in range(len(series) - LOOKBACK - HORIZON + 1):
        X.append(series[i:i + LOOKBACK])
        y.append(series[i + LOOKBACK + HORIZON - 1])
    return torch.tensor(np.array(X)).unsqueeze(-1), torch.tensor(np.array(y))


series = make_series()
cut = 3000
mu, sd = series[:cut].mean(), series[:cut].std()
series = (series - mu) / sd
Xtr, ytr = windows(series[:cut])
Xte, yte = windows(series[cut - LOOKBACK:])
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=64, shuffle=True)


class QuantileGRU(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(QUANTILES))

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


class PinballLoss(nn.Module):
    """Average pinball loss over all quantile levels."""

    def __init__(self, quantiles):
        super().__init__()
        self.quantiles = quantiles

    def forward(self, preds, target):
        total = 0.0
        for i, q in enumerate(self.quantiles):
            err = target - preds[:, i:i + 1]
            total = total + torch.maximum(q * err, (q - 1) * err).mean()
        return total / len(self.quantiles)


model = QuantileGRU()
criterion = PinballLoss(QUANTILES)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(1, 13):
    model.train()
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item() * len(xb)
    print(f"epoch {epoch:2d}  pinball {running / len(Xtr):.4f}")

model.eval()
with torch.no_grad():
    q = model(Xte).numpy()
y = yte.numpy()
mae = np.abs(q[:, 1] - y).mean()
cover = ((y >= q[:, 0]) & (y <= q[:, 2])).mean()
print(f"test: MAE of median {mae:.4f}   80% interval covers {cover:.3f}   width {np.mean(q[:, 2] - q[:, 0]):.3f}")
