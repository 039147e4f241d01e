"""DDPM on a ring-shaped point cloud. The loss is noisy and flattens early - that is normal;
the samples keep getting better. EMA weights for sampling."""
import copy
import math
import torch
from torch import nn

torch.manual_seed(28)
T = 60
beta = torch.linspace(1e-3, 0.15, T)
abar = torch.cumprod(1 - beta, 0)


def rings(n):
    r = 1.2
    a = torch.rand(n) * 2 * math.pi
    return torch.stack([r * torch.cos(a), r * torch.sin(a)], 1) + 0.05 * torch.randn(n, 2)


class Eps(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.freq = nn.Parameter(torch.arange(1, 9).float() * math.pi, requires_grad=False)
        self.net = nn.Sequential(nn.Linear(18, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(),
                                 nn.Linear(h, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x, t):
        a = (t.float() / T)[:, None] * self.freq
        return self.net(torch.cat([x, a.sin(), a.cos()], 1))


net = Eps()
ema = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, 2500)
avg = None
for step in range(2500):
    x0, t, e = rings(256), torch.randint(0, T, (256,)), torch.randn(256, 2)
    s = abar[t][:, None]
    loss = ((net(s.sqrt() * x0 + (1 - s).sqrt() * e, t) - e) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    with torch.no_grad():
        for a, b in zip(ema.parameters(), net.parameters()):
            a.lerp_(b, 0.01)
    avg = loss.item() if avg is None else 0.98 * avg + 0.02 * loss.item()
    if step % 250 == 0:
        print(f"step {step} loss {avg:.4f}")

with torch.no_grad():
    x = torch.randn(1000, 2)
    for i in reversed(range(T)):
        e = ema(x, torch.full((1000,), i))
        x = (x - beta[i] / (1 - abar[i]).sqrt() * e) / (1 - beta[i]).sqrt()
        if i:
            x = x + beta[i].sqrt() * torch.randn_like(x)
print("distance from the ring: samples %.3f, pure noise %.3f" % ((x.norm(dim=1) - 1.2).abs().mean(), (torch.randn(1000, 2).norm(dim=1) - 1.2).abs().mean()))
