import copy
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm

# 8 gaussians on a ring; hinge GAN, two time scales, spectral norm in D, EMA of G for the samples
SEED = 0
torch.manual_seed(SEED)
Z, B, STEPS = 8, 256, 3500
angles = torch.arange(8) * (2 * math.pi / 8)
CENTERS = torch.stack([angles.cos(), angles.sin()], 1) * 2.0


def real_batch(n):
    return CENTERS[torch.randint(0, 8, (n,))] + 0.08 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        sn = spectral_norm
        self.net = nn.Sequential(sn(nn.Linear(2, h)), nn.LeakyReLU(0.2), sn(nn.Linear(h, h)), nn.LeakyReLU(0.2),
                                 sn(nn.Linear(h, h)), nn.LeakyReLU(0.2), sn(nn.Linear(h, 1)))

    def forward(self, x):
        return self.net(x * 2.0).squeeze(-1) * 4.0


def quality(gen, n=2000):
    with torch.no_grad():
        x = gen(torch.randn(n, Z))
    dist, mode = torch.cdist(x, CENTERS).min(1)
    good = dist < 0.32
    modes = torch.bincount(mode[good], minlength=8)
    return int((modes > 20).sum()), good.float().mean().item()


G, D = Generator(), Critic()
G_ema = copy.deepcopy(G).requires_grad_(False)
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.9))

for step in range(1, STEPS + 1):
    x = real_batch(B)
    with torch.no_grad():
        fake = G(torch.randn(B, Z))
    d_loss = F.relu(1 - D(x)).mean() + F.relu(1 + D(fake)).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = -D(G(torch.randn(B, Z))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

    with torch.no_grad():
        for pe, p in zip(G_ema.parameters(), G.parameters()):
            pe.lerp_(p, 1 - 0.995)

    if step % 500 == 0:
        m, q = quality(G_ema)
        print(f"{step:5d} d_loss {d_loss.item():.3f} g_loss {g_loss.item():+.3f} modes {m}/8 good samples {q:.2f}")
