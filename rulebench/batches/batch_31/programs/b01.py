"""Human-activity style classification of 3-axis accelerometer windows with a small GRU.
The logger gives windows as (window, time, axis)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

SEED = 0
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

T, AXES, CLASSES = 40, 3, 5


def make_window(label):
    t = np.arange(T) / 16.0
    base = [1.0, 1.4, 1.4, 2.0, 2.0][label]
    lag = [0.0, 0.5, -0.5, 0.6, -0.6][label] * np.pi
    ph = rng.uniform(0, 2 * np.pi)
    w = np.stack([
        np.sin(2 * np.pi * base * t + ph),
        np.sin(2 * np.pi * base * t + ph + lag),
        0.5 * np.sin(4 * np.pi * base * t + 2 * ph),
    ], axis=1)
    w = w * rng.uniform(0.7, 1.3) + rng.normal(0, 0.6, w.shape)
    return w.astype(np.float32)


labels = rng.integers(0, CLASSES, 2000)
windows = np.stack([make_window(l) for l in labels])
print("windows", windows.shape)

x = torch.from_numpy(windows)          # (window, time, axis)
y = torch.from_numpy(labels).long()
xtr, ytr, xte, yte = x[:1600], y[:1600], x[1600:], y[1600:]
mu, sd = xtr.mean((0, 1), keepdim=True), xtr.std((0, 1), keepdim=True)
xtr, xte = (xtr - mu) / sd, (xte - mu) / sd
loader = DataLoader(TensorDataset(xtr, ytr), batch_size=64, shuffle=True)


class HARNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(AXES, 48, num_layers=1)
        self.fc = nn.Sequential(nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, CLASSES))

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.fc(out[:, -1])      # state after the last reading of each window


net = HARNet()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
crit = nn.CrossEntropyLoss()
for epoch in range(14):
    net.train()
    tot = 0
    for xb, yb in loader:
        opt.zero_grad()
        loss = crit(net(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        tot += loss.item() * len(xb)
    net.eval()
    with torch.no_grad():
        acc = (net(xte).argmax(1) == yte).float().mean().item()
    print(f"epoch {epoch+1:2d} train loss {tot/len(xtr):.4f}  test acc {acc:.3f}")
print("final test accuracy: %.4f" % acc)
