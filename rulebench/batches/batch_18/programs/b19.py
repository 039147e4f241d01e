# quantile regression with the pinball loss: 10%, 50%, 90%
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1)
rng = np.random.default_rng(1)
x = rng.uniform(-3, 3, 3000).astype(np.float32)
y = (np.sin(x) + (0.15 + 0.1 * np.abs(x)) * rng.normal(size=3000)).astype(np.float32)
x, y = torch.from_numpy(x)[:, None], torch.from_numpy(y)[:, None]
xtr, ytr, xte, yte = x[:2400], y[:2400], x[2400:], y[2400:]

q = torch.tensor([0.1, 0.5, 0.9])


class QuantileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.low = nn.Linear(64, 1)
        self.gaps = nn.Linear(64, 2)

    def forward(self, x):
        h = self.body(x)
        low = self.low(h)
        return torch.cat([low, low + nn.functional.softplus(self.gaps(h)).cumsum(1)], dim=1)


def pinball(pred, target):
    e = target - pred              # (n, 1) - (n, 3)
    return torch.maximum(q * e, (q - 1) * e).mean()


net = QuantileNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[25, 35], gamma=0.3)
for epoch in range(40):
    for b in torch.randperm(len(xtr)).split(100):
        loss = pinball(net(xtr[b]), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    if epoch % 8 == 7:
        with torch.no_grad():
            p = net(xte)
        cover = [(yte[:, 0] <= p[:, k]).float().mean().item() for k in range(3)]
        print(f"epoch {epoch + 1} test pinball {pinball(p, yte).item():.4f} share below quantile", [round(c, 3) for c in cover])
