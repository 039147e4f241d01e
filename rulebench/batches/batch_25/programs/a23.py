# GAN on a ring of 8 gaussians
import math
import torch
from torch import nn, optim

SEED = 42
torch.manual_seed(SEED)
Z = 8
R = 2.0
centers = torch.tensor([[R * math.cos(2 * math.pi * k / 8), R * math.sin(2 * math.pi * k / 8)] for k in range(8)])


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    return centers[k] + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(Z, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
D = nn.Sequential(nn.Linear(2, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2), nn.Linear(96, 1))
g_opt = optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.9))
d_opt = optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()


def r1(x):
    x = x.clone().requires_grad_(True)
    g, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return g.pow(2).sum(1).mean()


def report():
    with torch.no_grad():
        s = G(torch.randn(2000, Z))
    dist, who = torch.cdist(s, centers).min(1)
    good = dist < 0.4
    counts = torch.bincount(who[good], minlength=8)
    return int((counts > 40).sum()), good.float().mean().item()


for step in range(1, 3001):
    x = real_batch(128)
    fake = G(torch.randn(128, Z))
    d_loss = bce(D(x), torch.full((128, 1), 0.9)) + bce(D(fake.detach()), torch.zeros(128, 1)) + 0.1 * r1(x)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    g_loss = bce(D(fake), torch.ones(128, 1))
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()

    if step % 500 == 0:
        modes, frac = report()
        print(f"[{step}] D {d_loss.item():.3f} G {g_loss.item():.3f} modes {modes}/8 near a mode {frac:.2%}")

modes, frac = report()
print(f"modes found: {modes}/8, samples near a mode: {frac:.3f}")
