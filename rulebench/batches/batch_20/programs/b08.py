# %% [markdown]
# Short-term load forecasting with an LSTM: next value from the last 24 rows of features

# %%
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(42)
torch.manual_seed(42)

# %%
n = 3000
t = np.arange(n)
ar = np.zeros(n)
for i in range(1, n):
    ar[i] = 0.8 * ar[i - 1] + np.random.normal(0, 1.0)
load = 50 + 6 * np.sin(2 * np.pi * t / 24) + 3 * np.sin(2 * np.pi * t / 168) + 2 * ar
df = pd.DataFrame({"load": load})
df["hour_sin"] = np.sin(2 * np.pi * t / 24)
df["hour_cos"] = np.cos(2 * np.pi * t / 24)


# %%
def add_features(frame):
    out = frame.copy()
    out["smooth"] = out["load"].rolling(5, center=True, min_periods=1).mean()
    out["std24"] = out["load"].rolling(24, min_periods=1).std().fillna(0.0)
    out["diff1"] = out["load"].diff().fillna(0.0)
    return out


COLS = ["load", "hour_sin", "hour_cos", "smooth", "std24", "diff1"]
feat = add_features(df)
split = int(n * 0.7)
split2 = int(n * 0.85)
mu = feat[COLS].iloc[:split].mean().values
sd = feat[COLS].iloc[:split].std().values
WINDOW = 24


def windows(values, a, b):
    z = (values - mu) / sd
    X, y = [], []
    for i in range(a + WINDOW, b):
        X.append(z[i - WINDOW:i])
        y.append(z[i, 0])
    return torch.tensor(np.array(X), dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


values = feat[COLS].values
Xtr, ytr = windows(values, 0, split)
Xva, yva = windows(values, split, split2)
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=64, shuffle=True)


# %%
class Forecaster(nn.Module):
    def __init__(self, n_features, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(n_features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1]).squeeze(-1)


model = Forecaster(len(COLS))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
crit = nn.MSELoss()
for epoch in range(12):
    model.train()
    total = 0
    for xb, yb in loader:
        opt.zero_grad()
        loss = crit(model(xb), yb)
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        v = crit(model(Xva), yva).item()
    print(f"epoch {epoch + 1:2d}  train {total / len(Xtr):.4f}  val {v:.4f}  "
          f"val RMSE {np.sqrt(v) * sd[0]:.3f}")

# %% live run over the last part of the series
model.eval()
errors, naive = [], []
for i in range(split2, n):
    hist = add_features(df.iloc[i - 200:i])[COLS].values[-WINDOW:]
    x = torch.tensor(((hist - mu) / sd)[None], dtype=torch.float32)
    with torch.no_grad():
        p = model(x).item() * sd[0] + mu[0]
    errors.append(p - load[i])
    naive.append(load[i - 1] - load[i])
print(f"walk-forward RMSE {np.sqrt(np.mean(np.square(errors))):.3f}  "
      f"(persistence {np.sqrt(np.mean(np.square(naive))):.3f})")
