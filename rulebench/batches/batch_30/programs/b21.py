#!/usr/bin/env python
# 2-D ring-of-gaussians GAN (homework 4)
import math
import torch
import torch.nn as nn

torch.manual_seed(9)
K, R, Z = 8, 2.0, 8


def real(n):
    k = torch.randint(0, K, (n,)).float() * 2 * math.pi / K
    return torch.stack([R * torch.cos(k), R * torch.sin(k)], 1) + 0.08 * torch.randn(n, 2)


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


generator = mlp(Z, 2)
discriminator = mlp(2, 1)
bce = nn.BCEWithLogitsLoss()
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_g = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))

B = 128
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)
for it in range(3001):
    # --- discriminator
    x, z = real(B), torch.randn(B, Z)
    optimizer_d.zero_grad()
    d_loss = bce(discriminator(x), ones) + bce(discriminator(generator(z).detach()), zeros)
    d_loss.backward()
    optimizer_d.step()
    # --- generator
    z = torch.randn(B, Z)
    optimizer_g.zero_grad()
    g_loss = bce(discriminator(generator(z)), ones)
    g_loss.backward()
    optimizer_g.step()
    if it % 500 == 0:
        print(f"iter {it}: d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f}")


def energy(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


with torch.no_grad():
    fake = generator(torch.randn(2000, Z))
    centers = torch.stack([torch.tensor([R * math.cos(2 * math.pi * i / K), R * math.sin(2 * math.pi * i / K)]) for i in range(K)])
    dist, idx = torch.cdist(fake, centers).min(1)
    print("modes covered:", len(set(idx[dist < 0.4].tolist())), "of", K)
    print("energy distance to real data: %.4f" % energy(fake, real(2000)))
