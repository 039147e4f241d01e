# GAN on a ring of 8 Gaussians
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
device = torch.device('cpu')
nz, batch = 8, 128


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = k * (2 * math.pi / 8)
    centers = torch.stack([ang.cos(), ang.sin()], 1) * 2
    return centers + 0.08 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(nz, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)).to(device)
optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)
fixed = torch.randn(500, nz)

for it in range(3001):
    # --- discriminator
    real = real_batch(batch)
    fake = G(torch.randn(batch, nz)).detach()
    optD.zero_grad()
    lossD = criterion(D(real), ones * 0.9) + criterion(D(fake), zeros)
    lossD.backward()
    optD.step()

    # --- generator
    optG.zero_grad()
    lossG = criterion(D(fake), ones)
    lossG.backward()
    optG.step()

    if it % 300 == 0:
        with torch.no_grad():
            s = G(fixed)
        print('[%d] Loss_D: %.4f Loss_G: %.4f  mean radius %.3f' % (it, lossD.item(), lossG.item(), s.norm(dim=1).mean().item()))
