"""Mean and variance regression: sensor readings whose noise grows with the input."""
import math

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(6)
torch.manual_seed(6)


def true_mean(x):
    return 0.3 * np.sin(3 * x[:, 0]) * x[:, 1]


def true_std(x):
    return 0.02 + 0.12 * np.abs(x[:, 0])


def sample(n):
    x = np.random.uniform(-1, 1, size=(n, 3)).astype(np.float32)
    y = true_mean(x) + true_std(x) * np.random.randn(n)
    return torch.from_numpy(x), torch.from_numpy(y.astype(np.float32))


x_train, y_train = sample(4000)
x_test, y_test = sample(2000)


class GaussianMLP(nn.Module):
    def __init__(self, d_in=3, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.mean = nn.Linear(hidden, 1)
        self.raw_var = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.trunk(x)
        var = nn.functional.softplus(self.raw_var(h)) + 1e-5
        return self.mean(h).squeeze(1), var.squeeze(1)


model = GaussianMLP()
nll = nn.GaussianNLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=30)

for epoch in range(1, 31):
    model.train()
    total = 0.0
    for xb, yb in loader:
        mu, var = model(xb)
        loss = nll(mu, yb, var)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    scheduler.step()
    if epoch % 3 == 0:
        model.eval()
        with torch.no_grad():
            mu, var = model(x_test)
            test = nll(mu, y_test, var).item()
        print(f"epoch {epoch:2d}  train nll {total / len(x_train):.4f}  test nll {test:.4f}")

model.eval()
with torch.no_grad():
    mu, var = model(x_test)
z = (y_test - mu) / var.sqrt()
std_err = (var.sqrt().numpy() - true_std(x_test.numpy()))
ideal = np.mean(np.log(true_std(x_test.numpy())) + 0.5)
print(f"best possible nll about {ideal:.4f}")
print(f"coverage of the 90% interval: {(z.abs() < 1.645).float().mean().item():.3f}")
print(f"mean error of the predicted std: {np.abs(std_err).mean():.4f}")
r2 = 1 - ((y_test - mu) ** 2).mean() / y_test.var()
print(f"R2 of the mean: {r2.item():.3f}")
