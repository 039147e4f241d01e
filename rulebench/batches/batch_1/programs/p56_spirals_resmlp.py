"""Residual MLP on interleaved spirals (3 arms)."""
import numpy as np
import torch
import torch.nn as nn

SEED = 42
rng = np.random.RandomState(SEED)
torch.manual_seed(SEED)


def spirals(n_per_arm=400, arms=3, turns=1.6, noise=0.03):
    xs, ys = [], []
    for a in range(arms):
        t = np.sqrt(rng.rand(n_per_arm)) * turns * 2 * np.pi
        r = t / (turns * 2 * np.pi)
        ang = t + 2 * np.pi * a / arms
        xs.append(np.stack([r * np.cos(ang), r * np.sin(ang)], 1) + noise * rng.randn(n_per_arm, 2))
        ys.append(np.full(n_per_arm, a))
    return torch.tensor(np.concatenate(xs), dtype=torch.float32), torch.tensor(np.concatenate(ys))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc2(torch.relu(self.fc1(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, dim=32, depth=5, n_out=3):
        super().__init__()
        self.stem = nn.Linear(2, dim)
        self.blocks = [Block(dim) for _ in range(depth)]
        self.head = nn.Linear(dim, n_out)

    def forward(self, x):
        x = self.stem(x)
        for blk in self.blocks:
            x = blk(x)
        return self.head(x)


X, y = spirals()
Xv, yv = spirals(150)
net = ResMLP()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=150)
lossf = nn.CrossEntropyLoss()
for ep in range(150):
    for idx in torch.randperm(len(X)).chunk(10):
        opt.zero_grad()
        l = lossf(net(X[idx]), y[idx])
        l.backward()
        opt.step()
    sched.step()
    if ep % 15 == 0 or ep == 149:
        with torch.no_grad():
            va = (net(Xv).argmax(1) == yv).float().mean()
        print(f"{ep:4d}  loss {l.item():.4f}  val_acc {va:.3f}  lr {sched.get_last_lr()[0]:.2e}")
