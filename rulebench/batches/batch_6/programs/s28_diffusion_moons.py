"""DDPM on two moons, with an EMA copy for sampling."""
import copy
import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(45)
data = torch.tensor(make_moons(4000, noise=0.05, random_state=45)[0], dtype=torch.float32)
data = (data - data.mean(0)) / data.std(0)
STEPS = 60
beta = torch.linspace(1e-4, 0.12, STEPS)
alpha = 1 - beta
abar = alpha.cumprod(0)


class Denoiser(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.temb = nn.Embedding(STEPS, 24)
        self.net = nn.Sequential(nn.Linear(30, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, torch.sin(3 * x), torch.cos(3 * x), self.temb(t)], 1))


model = Denoiser()
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
TOTAL = 3600
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, TOTAL)
avg = None
for it in range(TOTAL):
    x0 = data[torch.randint(len(data), (256,))]
    t = torch.randint(0, STEPS, (256,))
    eps = torch.randn_like(x0)
    a = abar[t, None]
    loss = ((model(a.sqrt() * x0 + (1 - a).sqrt() * eps, t) - eps) ** 2).mean()
    opt.zero_grad(); loss.backward(); opt.step(); sched.step()
    with torch.no_grad():
        for pe, p in zip(ema.parameters(), model.parameters()):
            pe.lerp_(p, 0.01)
    avg = loss.item() if avg is None else 0.98 * avg + 0.02 * loss.item()
    if it % 300 == 0:
        print(f"iter {it} loss {loss.item():.4f} (smoothed {avg:.4f})")


@torch.no_grad()
def sample(net, n):
    x = torch.randn(n, 2)
    for k in reversed(range(STEPS)):
        e = net(x, torch.full((n,), k))
        x = (x - beta[k] / (1 - abar[k]).sqrt() * e) / alpha[k].sqrt()
        if k > 0:
            x = x + beta[k].sqrt() * torch.randn_like(x)
    return x


s = sample(ema, 1000)
near = torch.cdist(s, data).min(1).values
print("mean distance of samples to nearest data point %.4f (noise baseline %.4f)" % (
    near.mean(), torch.cdist(torch.randn(1000, 2), data).min(1).values.mean()))
