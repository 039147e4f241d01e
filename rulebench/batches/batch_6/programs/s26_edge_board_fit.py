import math
import torch
import torch.nn as nn

# Fit an energy-like surface with a small net, in bfloat16 so it fits on the edge board
torch.manual_seed(5)
dtype = torch.bfloat16

X = torch.rand(4000, 6) * 2 - 1
w = torch.randn(6, 4)
y = torch.sin(X @ w[:, :2] * 1.5).sum(1) + 0.5 * (X @ w[:, 2]) * (X @ w[:, 3])
y = (y - y.mean()) / y.std()
Xtr, ytr, Xva, yva = X[:3200], y[:3200], X[3200:], y[3200:]


class Net(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.inp = nn.Linear(6, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 1)
        self.act = nn.SiLU()

    def forward(self, x):
        h = self.act(self.inp(x))
        h = h + self.act(self.mid(h))
        return self.out(h).squeeze(-1)


model = Net().to(dtype)
optimizer = torch.optim.SGD(model.parameters(), lr=4e-3, momentum=0.9)
total = 2500
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, total)

for step in range(total):
    idx = torch.randint(0, len(Xtr), (64,))
    pred = model(Xtr[idx].to(dtype))
    loss = ((pred.float() - ytr[idx]) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    sched.step()
    if step % 250 == 0 or step == total - 1:
        with torch.no_grad():
            rmse = ((model(Xva.to(dtype)).float() - yva) ** 2).mean().sqrt().item()
        print(f"step {step:5d} | lr {sched.get_last_lr()[0]:.5f} | train {loss.item():.4f} | val rmse {rmse:.4f}")
