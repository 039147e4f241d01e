# simple GAN that learns 2d points on a ring of 8 gaussians
import math
import torch
import torch.nn as nn

SEED = 77
torch.manual_seed(SEED)
BATCH, Z, STEPS = 128, 8, 2500


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = 2 * math.pi * k / 8
    c = torch.stack([ang.cos(), ang.sin()], 1) * 2
    return c + 0.08 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(Z, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

for step in range(STEPS):
    real = real_batch(BATCH)
    fake = G(torch.randn(BATCH, Z)).detach()

    # --- discriminator
    d_loss = bce(D(real), ones) + bce(D(fake), zeros)
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    # --- generator
    g_loss = bce(D(fake), ones)
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()

    if step % 250 == 0:
        print(f"step {step} d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f}")

with torch.no_grad():
    pts = G(torch.randn(2000, Z))
ang = torch.arange(8) * 2 * math.pi / 8
centers = torch.stack([ang.cos(), ang.sin()], 1) * 2
d = torch.cdist(pts, centers).min(1)
print("modes hit:", len(set(d.indices[d.values < 0.4].tolist())))
print("share of good samples:", (d.values < 0.4).float().mean().item())
