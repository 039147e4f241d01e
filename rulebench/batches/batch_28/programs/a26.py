# Monte-Carlo dropout (Gal & Ghahramani): predictive mean and spread for a regression
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman2
from torch.utils.data import DataLoader, TensorDataset

SEED = 44
torch.manual_seed(SEED)

X, y = make_friedman2(n_samples=1500, noise=40.0, random_state=SEED)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32).unsqueeze(1)
Xtr, ytr, Xte, yte = X[:1100], y[:1100], X[1100:], y[1100:]
loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=50, shuffle=True)

model = nn.Sequential(
    nn.Linear(4, 128), nn.ReLU(), nn.Dropout(0.1),
    nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.1),
    nn.Linear(128, 1),
)
# weight decay follows from the prior length scale
opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
T = 50


def predict(x):
    model.train()
    with torch.no_grad():
        draws = torch.stack([model(x) for _ in range(T)])
    return draws.mean(0), draws.std(0)


for epoch in range(60):
    for xb, yb in loader:
        loss = ((model(xb) - yb) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 10 == 9:
        mean, std = predict(Xte)
        rmse = (mean - yte).pow(2).mean().sqrt().item()
        print(f"epoch {epoch + 1}: train loss {loss.item():.4f}  test rmse {rmse:.4f}  mean spread {std.mean().item():.4f}")

mean, std = predict(Xte)
r2 = 1 - (mean - yte).pow(2).mean() / yte.var()
far = predict(Xte + 6.0)[1].mean()
print(f"test R2 {r2.item():.4f}   spread on test {std.mean().item():.4f}   spread far from the data {far.item():.4f}")
