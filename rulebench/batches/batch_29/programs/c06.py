"""GAN on a ring of 8 gaussians, homework 4."""
import math, torch, torch.nn as nn
torch.manual_seed(0)
ang = torch.arange(8) * 2 * math.pi / 8
centers = torch.stack([ang.cos(), ang.sin()], 1) * 2

def real_batch(n):
    return centers[torch.randint(0, 8, (n,))] + 0.1 * torch.randn(n, 2)

G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(.2), nn.Linear(64, 64), nn.LeakyReLU(.2), nn.Linear(64, 1))
optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(.5, .999))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(.5, .999))
bce = nn.BCEWithLogitsLoss()
B = 256
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)
for it in range(2500):
    fake = G(torch.randn(B, 8)).detach()
    lossD = bce(D(real_batch(B)), ones) + bce(D(fake), zeros)
    optD.zero_grad(); lossD.backward(); optD.step()

    lossG = bce(D(fake), ones)
    optG.zero_grad()
    lossG.backward()
    optG.step()
    if it % 250 == 0:
        print(it, "lossD %.3f lossG %.3f" % (lossD.item(), lossG.item()))

with torch.no_grad():
    s = G(torch.randn(4000, 8))
    d = torch.cdist(s, centers)
    near, which = d.min(1)
    good = near < 0.4
    modes = len(which[good].unique())
print("share of samples near a mode: %.3f, modes hit: %d/8" % (good.float().mean(), modes))
