import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_diabetes

torch.manual_seed(5)
X, y = load_diabetes(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
y = (y - y.mean()) / y.std()
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32)
perm = torch.randperm(len(X))
tr, te = perm[:340], perm[340:]
loader = DataLoader(TensorDataset(X[tr], y[tr]), batch_size=20, shuffle=True)

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-3)
mse = nn.MSELoss()

for epoch in range(40):
    model.train()
    s = 0
    for xb, yb in loader:
        pred = model(xb)
        loss = mse(pred, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1} train loss {s / len(loader):.3f}")

model.eval()
with torch.no_grad():
    p = model(X[te]).numpy().ravel()
t = y[te].numpy()
print("test R2:", 1 - ((p - t) ** 2).sum() / ((t - t.mean()) ** 2).sum(), "std of predictions", p.std())
