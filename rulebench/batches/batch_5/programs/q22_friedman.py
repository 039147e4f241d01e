"""Robust regression on the Friedman #1 problem with a log-cosh objective."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score

torch.manual_seed(10)
X, y = make_friedman1(n_samples=2000, n_features=10, noise=0.5, random_state=10)
y = (y - y.mean()) / y.std()
dataset = TensorDataset(torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32))
train_set, val_set = random_split(dataset, [1600, 400])
train_dl = DataLoader(train_set, batch_size=50, shuffle=True)
val_dl = DataLoader(val_set, batch_size=100)


class LogCoshLoss(nn.Module):
    def forward(self, y_pred, y_true):
        diff = y_pred - y_true
        return torch.mean(diff + F.softplus(-2.0 * diff) - math.log(2.0))


class Regressor(nn.Module):
    def __init__(self, d_in):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.body(x))


model = Regressor(10)
loss_fn = LogCoshLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, 31):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        vl = sum(loss_fn(model(xb), yb).item() for xb, yb in val_dl) / len(val_dl)
    if epoch % 5 == 0:
        print(f"epoch {epoch:3d} | train {total/1600:.4f} | val {vl:.4f}")

model.eval()
preds, trues = [], []
with torch.no_grad():
    for xb, yb in val_dl:
        preds.append(model(xb).flatten())
        trues.append(yb)
print("val R2: %.4f" % r2_score(torch.cat(trues).numpy(), torch.cat(preds).numpy()))
