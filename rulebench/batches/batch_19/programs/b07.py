"""Demand forecasting: predict tomorrow's unit sales from the last two weeks."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SEED = 3
WINDOW = 14
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)


def make_sales(n_items=25, n_days=200):
    t = np.arange(n_days)
    rows = []
    for _ in range(n_items):
        level = rng.gamma(2.0, 6.0)
        weekly = 1 + 0.5 * np.sin(2 * np.pi * (t + rng.integers(7)) / 7)
        trend = 1 + 0.002 * t * rng.normal()
        lam = np.clip(level * weekly * trend, 0.05, None)
        rows.append(rng.poisson(lam))
    return np.stack(rows).astype("float32")


def windows(series, lo, hi):
    xs, ys = [], []
    for s in series:
        for i in range(lo, hi - WINDOW):
            xs.append(s[i:i + WINDOW])
            ys.append(s[i + WINDOW])
    return torch.tensor(np.array(xs)).unsqueeze(-1), torch.tensor(np.array(ys))


class SalesLSTM(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x / 20.0)
        return self.head(out[:, -1]).squeeze(-1) * 20.0


class RMSLELoss(nn.Module):
    def forward(self, pred, actual):
        return torch.sqrt(torch.mean((torch.log(pred + 1) - torch.log(actual + 1)) ** 2))


sales = make_sales()
x_train, y_train = windows(sales, 0, 150)
x_test, y_test = windows(sales, 150 - WINDOW, 200)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=128, shuffle=True)

model = SalesLSTM()
criterion = RMSLELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        test = criterion(model(x_test), y_test).item()
    print(f"epoch {epoch + 1}: train rmsle {total / len(loader):.4f}  test rmsle {test:.4f}")

model.eval()
with torch.no_grad():
    mae = (model(x_test) - y_test).abs().mean().item()
print("test MAE", round(mae, 3), " naive (same as a week ago) MAE",
      round((x_test[:, -7, 0] - y_test).abs().mean().item(), 3))
