import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(1)
torch.manual_seed(1)
torch.set_num_threads(1)

# hourly power demand (synthetic): daily and weekly pattern, slow trend, noise
n = 24 * 7 * 20
t = np.arange(n)
series = (10 + 3 * np.sin(2 * np.pi * t / 24) + 1.5 * np.sin(2 * np.pi * t / 168 + 1)
          + 0.8 * np.sin(2 * np.pi * t / 12) * (np.sin(2 * np.pi * t / 168) > 0) + 0.3 * np.random.randn(n))
window, split = 48, int(0.8 * n)
mu, sd = series[:split].mean(), series[:split].std()
z = ((series - mu) / sd).astype(np.float32)


def windows(a):
    X = np.stack([a[i:i + window] for i in range(len(a) - window)])
    return torch.from_numpy(X)[..., None], torch.from_numpy(a[window:])[:, None]


Xtr, ytr = windows(z[:split])
Xte, yte = windows(z[split - window:])
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=64, shuffle=True)


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1])


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()
for epoch in range(15):
    model.train()
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        test = criterion(model(Xte), yte).item()
    print(f"Epoch {epoch + 1}/15 - train MSE {np.mean(losses):.4f} - test MSE {test:.4f}")

with torch.no_grad():
    pred = model(Xte) * sd + mu
true = yte * sd + mu
naive = (true[24:] - true[:-24]).abs().mean().item()
print(f"Test MAE: {(pred - true).abs().mean().item():.3f} (same hour yesterday: {naive:.3f})")
