# Two tasks on one trunk, homoscedastic uncertainty weighting (Kendall et al.), synthetic sensor data
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 4
torch.manual_seed(SEED)
g = np.random.default_rng(SEED)

n = 3000
x = g.normal(size=(n, 10)).astype("float32")
w = np.random.default_rng(1).normal(size=(10, 2))
z = x @ w
height = np.tanh(z[:, 0]) + 0.3 * z[:, 1] + 0.03 * g.normal(size=n)
kind = (z[:, 0] > 1).astype(int) + (z[:, 1] > 1).astype(int)
x, height, kind = torch.tensor(x), torch.tensor(height, dtype=torch.float32), torch.tensor(kind)
tr, te = slice(0, 2400), slice(2400, None)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.reg = nn.Linear(64, 1)
        self.cls = nn.Linear(64, 3)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return self.reg(h)[:, 0], self.cls(h)

    def total(self, x, yr, yc):
        r, c = self(x)
        l1, l2 = F.mse_loss(r, yr), F.cross_entropy(c, yc)
        s = self.log_var
        return 0.5 * torch.exp(-s[0]) * l1 + torch.exp(-s[1]) * l2 + 0.5 * s.sum(), l1, l2


net = Net()
opt = torch.optim.Adam([
    {"params": [p for k, p in net.named_parameters() if k != "log_var"], "lr": 2e-3},
    {"params": [net.log_var], "lr": 1e-2},
])
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=[4e-3, 1e-2], total_steps=40 * 38)
for ep in range(40):
    tot = []
    for b in torch.randperm(2400).split(64):
        loss, l1, l2 = net.total(x[tr][b], height[tr][b], kind[tr][b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        tot.append([loss.item(), l1.item(), l2.item()])
    if ep % 5 == 4:
        m = np.mean(tot, 0)
        print(f"ep {ep+1}: loss {m[0]:.3f} (mse {m[1]:.4f}, ce {m[2]:.4f}) log_var {net.log_var.tolist()}")
net.eval()
with torch.no_grad():
    r, c = net(x[te])
r2 = 1 - (r - height[te]).pow(2).sum() / (height[te] - height[te].mean()).pow(2).sum()
print(f"test R2 {r2:.4f} test acc {(c.argmax(1) == kind[te]).float().mean():.4f}")
