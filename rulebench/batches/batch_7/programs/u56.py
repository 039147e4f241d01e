"""Quantile regression: a net with three outputs for the 10, 50 and 90 per cent quantiles."""
import torch
import torch.nn as nn

torch.manual_seed(209)
n = 3000
x = torch.rand(n, 1) * 6 - 3
y = torch.sin(2 * x) + (0.1 + 0.25 * x.abs()) * torch.randn(n, 1)
q = torch.tensor([0.1, 0.5, 0.9])
net = nn.Sequential(nn.Linear(1, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [30, 50], gamma=0.3)


def pinball(pred, target):
    e = target - pred
    return torch.maximum(q * e, (q - 1) * e).mean()


xt, yt, xv, yv = x[:2400], y[:2400], x[2400:], y[2400:]
for epoch in range(60):
    for idx in torch.randperm(2400).split(64):
        loss = pinball(net(xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
    if epoch % 6 == 5:
        with torch.no_grad():
            v = net(xv)
        print(f"epoch {epoch + 1} val pinball {pinball(v, yv):.4f} below: "
              + " ".join(f"{(yv[:, 0] < v[:, j]).float().mean():.3f}" for j in range(3)))
