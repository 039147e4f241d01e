# Next-value prediction of a hourly load curve from the last 24 values
import numpy as np
import torch
from torch import nn

np.random.seed(3)
torch.manual_seed(3)

t = np.arange(3000)
load = 50 + 12 * np.sin(2 * np.pi * t / 24) + 5 * np.sin(2 * np.pi * t / 168) + np.random.randn(len(t))
mean, std = load[:2400].mean(), load[:2400].std()
series = (load - mean) / std

W = 24
X = np.stack([series[i:i + W] for i in range(len(series) - W)]).astype(np.float32)
y = series[W:].astype(np.float32)[:, None]

n_train = 2400 - W
X_train, y_train = X[:n_train], y[:n_train]
X_test, y_test = X[n_train:], y[n_train:]

idx = np.random.permutation(n_train)
X_train = torch.from_numpy(X_train[idx])
y_train = torch.from_numpy(y_train)
X_test, y_test = torch.from_numpy(X_test), torch.from_numpy(y_test)

model = nn.Sequential(nn.Linear(W, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
mse = nn.MSELoss()

for epoch in range(40):
    model.train()
    ep = 0.0
    for i in range(0, n_train, 64):
        xb, yb = X_train[i:i + 64], y_train[i:i + 64]
        pred = model(xb)
        loss = mse(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ep += loss.item() * len(xb)
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            rmse = mse(model(X_test), y_test).sqrt().item() * std
        print(f"[{epoch+1:02d}] train mse {ep / n_train:.4f}  test rmse {rmse:.3f}")
