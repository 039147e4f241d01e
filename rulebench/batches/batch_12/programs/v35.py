import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
rng = np.random.default_rng(42)
# toy house prices (in 100k)
n = 2000
area = rng.uniform(40, 200, n)
rooms = rng.integers(1, 7, n)
dist = rng.exponential(5, n)
price = 0.02 * area + 0.15 * rooms - 0.12 * dist + 0.3 * (dist < 2) + rng.normal(0, 0.15, n)
X = np.stack([area, rooms, dist], 1)
X = (X - X[:1600].mean(0)) / X[:1600].std(0)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(price, dtype=torch.float32)

train = DataLoader(TensorDataset(X[:1600], y[:1600]), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(30):
    run = 0
    for xb, yb in train:
        pred = model(xb)
        loss = ((pred - yb) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", run / len(train))

with torch.no_grad():
    p = model(X[1600:]).numpy().ravel()
yt = price[1600:]
print("test R2:", 1 - ((p - yt) ** 2).sum() / ((yt - yt.mean()) ** 2).sum())
