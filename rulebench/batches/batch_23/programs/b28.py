# One-step-ahead load forecasting with a GRU
# (exported from notebook)
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
rng = np.random.default_rng(42)

# %% data: two years of daily load with weekly pattern and AR noise
n = 1500
t = np.arange(n)
noise = np.zeros(n)
for i in range(1, n):
    noise[i] = 0.6 * noise[i - 1] + rng.normal(0, 4)
series = 100 + 12 * np.sin(2 * np.pi * t / 7) + 8 * np.sin(2 * np.pi * t / 365) + noise
series = series.astype(np.float32)

split = 1100
mean, std = series[:split].mean(), series[:split].std()
scaled = (series - mean) / std

# %% windows
LOOKBACK = 28


def create_windows(values, lookback):
    xs, ys = [], []
    for i in range(len(values) - lookback):
        window = values[i:i + lookback]
        xs.append(window)
        ys.append(values[i + lookback - 1])
    return torch.tensor(np.array(xs)).unsqueeze(-1), torch.tensor(np.array(ys))


X_train, y_train = create_windows(scaled[:split], LOOKBACK)
X_test, y_test = create_windows(scaled[split - LOOKBACK:], LOOKBACK)
train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)

# %% model


class GRUForecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.gru(x)
        return self.fc(out[:, -1]).squeeze(-1)


model = GRUForecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.MSELoss()

for epoch in range(15):
    model.train()
    total = 0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        mae = (model(X_test) - y_test).abs().mean().item() * std
    print(f"epoch {epoch + 1:2d} train mse {total / len(X_train):.4f}  test MAE {mae:.3f}")

# %% roll the model over the last 100 days: forecast tomorrow from today's window
errors, naive = [], []
with torch.no_grad():
    for day in range(n - 100, n):
        window = torch.tensor(scaled[day - LOOKBACK:day]).view(1, LOOKBACK, 1)
        forecast = model(window).item() * std + mean
        errors.append(abs(forecast - series[day]))
        naive.append(abs(series[day - 7] - series[day]))
print(f"live MAE of the forecasts {np.mean(errors):.3f}, weekly-naive MAE {np.mean(naive):.3f}")
