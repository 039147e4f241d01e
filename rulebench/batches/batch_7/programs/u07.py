"""GAN on a ring of eight Gaussians."""
import math
import torch
from torch import nn

torch.manual_seed(202)
centers = torch.tensor([[math.cos(k * math.pi / 4), math.sin(k * math.pi / 4)] for k in range(8)]) * 2


def real_batch(n):
    return centers[torch.randint(0, 8, (n,))] + 0.1 * torch.randn(n, 2)


def mlp(i, o, act):
    return nn.Sequential(nn.Linear(i, 96), act(), nn.Linear(96, 96), act(), nn.Linear(96, o))


G = mlp(8, 2, nn.ReLU)
D = mlp(2, 1, lambda: nn.LeakyReLU(0.2))
g_opt = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.9))
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(128, 1), torch.zeros(128, 1)

for it in range(1, 3001):
    real = real_batch(128)
    fake = G(torch.randn(128, 8))
    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    g_loss = bce(D(G(torch.randn(128, 8))), ones)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if it % 300 == 0:
        with torch.no_grad():
            s = G(torch.randn(1000, 8))
        dist, which = torch.cdist(s, centers).min(1)
        hits = torch.bincount(which[dist < 0.4], minlength=8)
        print(f"{it} D {d_loss.item():.3f} G {g_loss.item():.3f} good {(dist < 0.4).float().mean():.2f} modes {(hits > 20).sum().item()}")
