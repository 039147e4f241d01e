# Predict disease progression (sklearn diabetes) with a small MLP.
# Based on my course notes, week 3.
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)
np.random.seed(7)

X, y = load_diabetes(return_X_y=True, scaled=False)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=7)
sx = StandardScaler().fit(X_tr)
mu, sd = y_tr.mean(), y_tr.std()
X_tr, X_te = sx.transform(X_tr), sx.transform(X_te)
y_tr, y_te = (y_tr - mu) / sd, (y_te - mu) / sd

train = TensorDataset(torch.tensor(X_tr, dtype=torch.float32), torch.tensor(y_tr, dtype=torch.float32))
loader = DataLoader(train, batch_size=32, shuffle=True)


class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, 48), nn.SiLU(), nn.Linear(48, 24), nn.SiLU())
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        return self.out(self.body(x))


def rmse_loss(pred, target):
    return torch.mean((pred - target) ** 2 + 1e-8) ** 0.5


net = Net(X.shape[1])
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)

for epoch in range(60):
    net.train()
    running = 0.0
    for xb, yb in loader:
        opt.zero_grad(set_to_none=True)
        loss = rmse_loss(net(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item() * len(xb)
    if epoch % 6 == 0:
        print(f"epoch {epoch:3d}  train rmse {running / len(train):.4f}")

net.eval()
with torch.no_grad():
    p = net(torch.tensor(X_te, dtype=torch.float32)).numpy().ravel()
r2 = 1 - ((p - y_te) ** 2).sum() / ((y_te - y_te.mean()) ** 2).sum()
print("test r2: %.3f   std of predictions: %.3f" % (r2, p.std()))
