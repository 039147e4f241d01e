import math
import torch
import torch.nn as nn

torch.manual_seed(12)
Z = 8


def real_batch(n):
    """mixture of eight gaussians on a circle"""
    a = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    return torch.stack([a.cos(), a.sin()], 1) + 0.08 * torch.randn(n, 2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


G, D = mlp(Z, 2), mlp(2, 1)
optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


B = 128
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)
for it in range(1500):
    # --- discriminator
    real = real_batch(B)
    fake = G(torch.randn(B, Z)).detach()
    lossD = bce(D(real), ones) + bce(D(fake), zeros)
    optD.zero_grad()
    lossD.backward()
    optD.step()

    # --- generator
    lossG = bce(D(fake), ones)
    optG.zero_grad()
    lossG.backward()
    optG.step()

    if it % 250 == 0:
        print(f"[{it:5d}] D {lossD.item():.4f}  G {lossG.item():.4f}")

with torch.no_grad():
    print("energy distance to real samples: %.4f" % energy_distance(G(torch.randn(2000, Z)), real_batch(2000)))
    print("   (between two real samples   : %.4f)" % energy_distance(real_batch(2000), real_batch(2000)))
