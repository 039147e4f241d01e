import math
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_moons

SEED = 11
torch.manual_seed(SEED)
np.random.seed(SEED)


class TimeEmbedding(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.register_buffer("freq", torch.exp(-math.log(1000.0) * torch.arange(dim // 2) / (dim // 2)))

    def forward(self, t):
        a = t[:, None].float() * self.freq
        return torch.cat([a.sin(), a.cos()], -1)


class Denoiser(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.temb = TimeEmbedding()
        self.net = nn.Sequential(nn.Linear(2 + 32, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                 nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.temb(t)], -1))


class DDPM:
    def __init__(self, steps=100):
        self.T = steps
        self.betas = torch.linspace(1e-3, 0.08, steps)
        self.alphas = 1.0 - self.betas
        self.abar = torch.cumprod(self.alphas, 0)

    def q_sample(self, x0, t, noise):
        a = self.alphas[t][:, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def loss(self, model, x0):
        t = torch.randint(0, self.T, (len(x0),))
        noise = torch.randn_like(x0)
        return ((model(self.q_sample(x0, t, noise), t) - noise) ** 2).mean()

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.T)):
            eps = model(x, torch.full((n,), i))
            mean = (x - self.betas[i] / (1 - self.abar[i]).sqrt() * eps) / self.alphas[i].sqrt()
            x = mean + (self.betas[i].sqrt() * torch.randn_like(x) if i > 0 else 0)
        return x


def energy_distance(a, b):
    """0 when both clouds come from the same distribution"""
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


data, _ = make_moons(6000, noise=0.06, random_state=SEED)
data = torch.tensor((data - data.mean(0)) / data.std(0), dtype=torch.float32)
train, ref = data[:5000], data[5000:]

ddpm, model = DDPM(), Denoiser()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4000)
hist = []
for it in range(1, 4001):
    x0 = train[torch.randint(0, len(train), (256,))]
    loss = ddpm.loss(model, x0)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    hist.append(loss.item())
    if it % 500 == 0:
        s = ddpm.sample(model, 1000)
        print(f"{it:5d} loss {np.mean(hist[-200:]):.4f} energy distance to data {energy_distance(s, ref):.4f} "
              f"sample std {s.std(0).tolist()}")
