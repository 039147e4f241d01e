# Simple GAN on a ring of 8 gaussians. Based on the tutorial we did in class.
import math
import torch
import torch.nn as nn

torch.manual_seed(10)
device = "cpu"


def real_batch(n):
    k = torch.randint(0, 8, (n,)).float()
    ang = 2 * math.pi * k / 8
    centers = torch.stack([ang.cos(), ang.sin()], 1) * 2
    return centers + 0.12 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2)).to(device)
D = nn.Sequential(nn.Linear(2, 96), nn.LeakyReLU(0.2), nn.Linear(96, 96), nn.LeakyReLU(0.2), nn.Linear(96, 1)).to(device)

criterion = nn.BCEWithLogitsLoss()
optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
B = 128
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)


def quality(n=2000):
    """share of samples that lie within 4 sigma of a mode, and number of modes hit"""
    with torch.no_grad():
        s = G(torch.randn(n, 8))
    ang = torch.arange(8) * 2 * math.pi / 8
    c = torch.stack([ang.cos(), ang.sin()], 1) * 2
    dist, which = torch.cdist(s, c).min(1)
    good = dist < 0.48
    return good.float().mean().item(), int((torch.bincount(which[good], minlength=8) > 20).sum())


for it in range(1, 3001):
    # ---- discriminator
    z = torch.randn(B, 8, device=device)
    fake = G(z).detach()  # no graph needed for the discriminator step
    lossD = criterion(D(real_batch(B)), ones) + criterion(D(fake), zeros)
    optD.zero_grad()
    lossD.backward()
    optD.step()

    # ---- generator: same fakes, now they should be called real
    lossG = criterion(D(fake), ones)
    optG.zero_grad()
    lossG.backward()
    optG.step()

    if it % 500 == 0:
        g, m = quality()
        print("[%d] D: %.3f  G: %.3f  good samples %.3f  modes %d" % (it, lossD.item(), lossG.item(), g, m))

g, m = quality()
print("share of good samples: %.3f, modes covered: %d / 8" % (g, m))
