"""
Gradient accumulation example: effective batch 64 from micro-batches of 4, with
gradient clipping, and the (smaller) last group of an epoch handled too.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(100)
N, D = 2010, 10
X = torch.rand(N, D)
# Friedman #1
y = 10 * torch.sin(torch.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4] + torch.randn(N)
mu, sd = y[:1600].mean(), y[:1600].std()
train_dl = DataLoader(TensorDataset(X[:1600 + 10], (y[:1610] - mu) / sd), batch_size=4, shuffle=True)
Xv, yv = X[1610:], (y[1610:] - mu) / sd

ACC = 16
net = nn.Sequential(nn.Linear(D, 64), nn.Mish(), nn.Linear(64, 64), nn.Mish(), nn.Linear(64, 1), nn.Flatten(0))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
n_batches = len(train_dl)
updates = 0
for epoch in range(25):
    opt.zero_grad()
    for i, (xb, yb) in enumerate(train_dl):
        loss = nn.functional.mse_loss(net(xb), yb) / ACC
        loss.backward()
        if (i + 1) % ACC == 0 or i + 1 == n_batches:
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
            opt.zero_grad()
            updates += 1
    if epoch % 3 == 0:
        with torch.no_grad():
            v = nn.functional.mse_loss(net(Xv), yv).item()
        print(f"epoch {epoch} updates {updates} micro loss {loss.item():.4f} val mse {v:.4f}")
with torch.no_grad():
    print("final R2", 1 - nn.functional.mse_loss(net(Xv), yv).item() / yv.var().item())
