# Toy GAN on the classic ring of 8 Gaussians.
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 0
torch.manual_seed(SEED)
Z = 16
STEPS = 3000
BS = 128


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = k.float() * math.pi / 4
    centers = torch.stack([torch.cos(ang), torch.sin(ang)], 1) * 2.0
    return centers + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(Z, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
D = nn.Sequential(nn.Linear(2, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))


def gp(x):
    # R1 penalty on the real points
    x = x.clone().requires_grad_(True)
    g, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return g.pow(2).sum(1).mean()


for step in range(STEPS):
    x = real_batch(BS)
    fake = G(torch.randn(BS, Z)).detach()
    loss_d = F.softplus(-D(x)).mean() + F.softplus(D(fake)).mean()
    loss_d = loss_d + 0.05 * gp(x)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = F.softplus(-D(G(torch.randn(BS, Z)))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 300 == 0:
        print(f"{step:5d}  D {loss_d.item():.3f}  G {loss_g.item():.3f}")

with torch.no_grad():
    s = G(torch.randn(4000, Z))
ang = torch.arange(8).float() * math.pi / 4
c = torch.stack([torch.cos(ang), torch.sin(ang)], 1) * 2.0
d, idx = torch.cdist(s, c).min(1)
good = d < 0.25
cover = sum(int((idx[good] == k).sum() > 40) for k in range(8))
print(f"modes covered {cover}/8, good samples {good.float().mean():.2%}")
