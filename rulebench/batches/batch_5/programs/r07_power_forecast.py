# One-step-ahead load forecasting with a GRU
import numpy as np
import torch
from torch import nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
np.random.seed(0)
torch.set_num_threads(1)

hours = np.arange(24 * 150)
load = (10 + 3 * np.sin(2 * np.pi * hours / 24) + 1.5 * np.sin(2 * np.pi * hours / 168)
        + np.sin(4 * np.pi * hours / 24 + 1) * (1 + 0.5 * np.sin(2 * np.pi * hours / 168))
        + np.random.normal(0, 0.15, len(hours)))
split = int(len(load) * 0.8)
mu, sd = load[:split].mean(), load[:split].std()
series = ((load - mu) / sd).astype("float32")
W = 36


def windows(s):
    x = np.stack([s[i:i + W] for i in range(len(s) - W)])[..., None]
    y = s[W:][:, None]
    return TensorDataset(torch.tensor(x), torch.tensor(y))


train_dl = DataLoader(windows(series[:split]), batch_size=32, shuffle=True)
test_dl = DataLoader(windows(series[split:]), batch_size=256)


class Forecaster(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1])


model = Forecaster()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = StepLR(optimizer, step_size=5, gamma=0.5)
EPOCHS = 12

for epoch in range(1, EPOCHS + 1):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        se = sum(((model(xb) - yb) ** 2).sum().item() for xb, yb in test_dl)
    print(f"epoch {epoch:2d}  train mse {running / len(train_dl.dataset):.4f}  "
          f"test rmse {(se / len(test_dl.dataset)) ** 0.5 * sd:.3f}")
