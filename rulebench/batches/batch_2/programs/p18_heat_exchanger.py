# Outlet temperature of a shell-and-tube heat exchanger from six plant signals.
# Cut down from my thesis code, plant data replaced by a simulator.
import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader

rng = np.random.default_rng(3)
torch.manual_seed(3)


def simulate(n):
    flow_h = rng.uniform(0.5, 2.0, n)
    flow_c = rng.uniform(0.5, 2.0, n)
    t_h = rng.uniform(60, 95, n)
    t_c = rng.uniform(8, 25, n)
    fouling = rng.beta(2, 5, n)
    valve = rng.uniform(0, 1, n)
    ntu = 2.2 * (1 - 0.5 * fouling) / np.maximum(flow_h, 0.3)
    eff = 1 - np.exp(-ntu * (0.4 + 0.6 * valve))
    t_out = t_h - eff * (t_h - t_c) * np.minimum(1, flow_c / flow_h)
    X = np.stack([flow_h, flow_c, t_h, t_c, fouling, valve], 1)
    return X.astype("float32"), (t_out + rng.normal(0, 0.3, n)).astype("float32")


X, y = simulate(3000)
mu, sd = X.mean(0), X.std(0)
y_mu, y_sd = y.mean(), y.std()
X = torch.from_numpy((X - mu) / sd)
y = torch.from_numpy((y - y_mu) / y_sd)

train = DataLoader(TensorDataset(X[:2400], y[:2400]), batch_size=64, shuffle=True)
Xv, yv = X[2400:], y[2400:]

net = nn.Sequential(nn.Linear(6, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-4)


def sq_err(pred, target):
    return ((pred - target) ** 2).mean()


for epoch in range(40):
    net.train()
    tot, seen = 0.0, 0
    for xb, yb in train:
        opt.zero_grad()
        loss = sq_err(net(xb), yb)
        loss.backward()
        opt.step()
        tot += loss.item() * len(xb)
        seen += len(xb)
    if epoch % 5 == 0 or epoch == 39:
        net.eval()
        with torch.no_grad():
            p = net(Xv).squeeze(1)
            rmse = ((p - yv) ** 2).mean().sqrt().item() * y_sd
            r2 = 1 - ((p - yv) ** 2).sum() / ((yv - yv.mean()) ** 2).sum()
        print(f"epoch {epoch:3d}  train mse {tot / seen:.4f}  val rmse {rmse:.2f} degC  R2 {r2.item():.3f}")
