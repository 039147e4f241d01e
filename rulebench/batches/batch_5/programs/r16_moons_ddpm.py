# Tiny DDPM on two moons, weights averaged with EMA for sampling
import copy
import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(0)
torch.set_num_threads(1)
T = 100
data = torch.tensor(make_moons(4000, noise=0.04, random_state=0)[0], dtype=torch.float32)
data = (data - data.mean(0)) / data.std(0)
beta = torch.linspace(1e-3, 0.12, T)
alpha = 1 - beta
abar = alpha.cumprod(0)


class Eps(nn.Module):
    def __init__(self, h=128):
        super().__init__()
        self.emb = nn.Embedding(T, 32)
        self.net = nn.Sequential(nn.Linear(34, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.emb(t)], 1))


model = Eps()
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
STEPS = 3000
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)


@torch.no_grad()
def sample(net, n):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        tt = torch.full((n,), t)
        e = net(x, tt)
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / alpha[t].sqrt()
        if t > 0:
            x = x + beta[t].sqrt() * torch.randn_like(x)
    return x


avg = 0.0
for step in range(1, STEPS + 1):
    x0 = data[torch.randint(0, len(data), (256,))]
    t = torch.randint(0, T, (256,))
    eps = torch.randn_like(x0)
    a = abar[t][:, None]
    xt = a.sqrt() * x0 + (1 - a).sqrt() * eps
    loss = ((model(xt, t) - eps) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), model.parameters()):
            p.lerp_(q, 0.005)
    avg = loss.item() if step == 1 else 0.98 * avg + 0.02 * loss.item()
    if step % 500 == 0 or step == 1:
        s = sample(ema, 1000)
        d = torch.cdist(s, data).min(1).values
        c = torch.cdist(data[:1000], s).min(1).values
        print(f"{step:5d} loss {avg:.4f} sample->data {d.mean():.3f} data->sample {c.mean():.3f}")
