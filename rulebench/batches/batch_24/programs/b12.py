"""Predict daily demand together with its uncertainty (Gaussian likelihood)."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(21)


def simulate(n):
    temp = torch.rand(n, 1) * 35 - 5
    weekend = (torch.rand(n, 1) < 2 / 7).float()
    price = 1 + torch.rand(n, 1)
    mean = 0.3 * torch.sin(temp / 6) + 0.2 * weekend - 0.25 * (price - 1.5)
    sd = 0.02 + 0.08 * weekend + 0.06 * (temp > 25).float()
    y = mean + sd * torch.randn(n, 1)
    return torch.cat([temp, weekend, price], 1), y, sd


x_train, y_train, _ = simulate(6000)
x_test, y_test, sd_test = simulate(2000)
mu, sigma = x_train.mean(0), x_train.std(0)
x_train, x_test = (x_train - mu) / sigma, (x_test - mu) / sigma


class MeanVar(nn.Module):
    def __init__(self, d_in=3, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.mean = nn.Linear(hidden, 1)
        self.raw_var = nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.mean(h), F.softplus(self.raw_var(h)) + 1e-5


net = MeanVar()
nll = nn.GaussianNLLLoss(eps=1e-5)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=25)

for epoch in range(25):
    net.train()
    order = torch.randperm(len(x_train))
    total = 0.0
    for idx in order.split(128):
        m, v = net(x_train[idx])
        loss = nll(m, y_train[idx], v)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * len(idx)
    sched.step()
    net.eval()
    with torch.no_grad():
        m, v = net(x_test)
        test_nll = nll(m, y_test, v).item()
        inside = ((y_test - m).abs() < 1.96 * v.sqrt()).float().mean().item()
        rmse = F.mse_loss(m, y_test).sqrt().item()
    if epoch % 3 == 0 or epoch == 24:
        print(f"epoch {epoch:2d} nll {total / len(x_train):+.4f} test nll {test_nll:+.4f} rmse {rmse:.4f} 95%-coverage {inside:.3f}")

corr = torch.corrcoef(torch.stack([v.sqrt().flatten(), sd_test.flatten()]))[0, 1].item()
print(f"correlation of predicted and true standard deviation: {corr:.3f}")
