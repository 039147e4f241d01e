import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import make_regression
import warnings
warnings.filterwarnings("ignore")

torch.manual_seed(1)
X, y = make_regression(n_samples=1000, n_features=12, n_informative=8, noise=5.0, random_state=1)
X = torch.from_numpy(X).float()
y = torch.from_numpy(y).float()
y = (y - y[:800].mean()) / y[:800].std()

ds = TensorDataset(X[:800], y[:800])
dl = DataLoader(ds, batch_size=32, shuffle=True)
X_test, y_test = X[800:], y[800:]

model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
optim = torch.optim.Adam(model.parameters(), lr=1e-3)
mse = nn.MSELoss()

for epoch in range(30):
    model.train()
    tot = 0.0
    for xb, yb in dl:
        optim.zero_grad()
        pred = model(xb)
        loss = mse(pred, yb)
        loss.backward()
        optim.step()
        tot += loss.item()
    if (epoch + 1) % 3 == 0:
        print("epoch", epoch + 1, "loss", tot / len(dl))

model.eval()
with torch.no_grad():
    pred = model(X_test).flatten()
r2 = 1 - ((pred - y_test) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
print("prediction std", pred.std().item(), "target std", y_test.std().item())
print("R2 on test", r2.item())
