import numpy as np
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import make_friedman1

torch.manual_seed(3)
X, y = make_friedman1(1200, noise=0.5, random_state=3)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32)
loader = DataLoader(TensorDataset(X[:1000], y[:1000]), batch_size=50, shuffle=True)

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(40):
    for xb, yb in loader:
        pred = model(xb)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 4:
        print(epoch + 1, loss.item())

model.eval()
with torch.no_grad():
    p = model(X[1000:]).numpy().ravel()
t = y[1000:].numpy()
print("std of predictions", p.std(), "std of targets", t.std())
print("test R2:", 1 - np.sum((p - t) ** 2) / np.sum((t - t.mean()) ** 2))
