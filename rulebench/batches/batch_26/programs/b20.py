# ring of gaussians GAN, vanilla pytorch
import math
import torch
import torch.nn as nn

torch.manual_seed(2)
torch.set_num_threads(1)

MODES, R, STD = 8, 2.0, 0.08
ang = torch.arange(MODES) * 2 * math.pi / MODES
centers = torch.stack([R * ang.cos(), R * ang.sin()], 1)


def real_batch(n):
    return centers[torch.randint(0, MODES, (n,))] + STD * torch.randn(n, 2)


def mlp(i, o, h=96):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


G, D = mlp(8, 2), mlp(2, 1)
optG = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
B = 128
real_label = torch.full((B, 1), 0.9)
fake_label = torch.zeros(B, 1)
ones = torch.ones(B, 1)


def quality(n=4000):
    with torch.no_grad():
        s = G(torch.randn(n, 8))
        d = torch.cdist(s, centers)
        m, which = d.min(1)
        good = m < 4 * STD
        cnt = torch.bincount(which[good], minlength=MODES)
        return good.float().mean().item(), int((cnt > n * 0.01).sum())


for it in range(1, 2501):
    fake = G(torch.randn(B, 8))

    # discriminator
    optD.zero_grad()
    lossD = bce(D(real_batch(B)), real_label) + bce(D(fake.detach()), fake_label)
    lossD.backward()
    optD.step()

    # generator
    optD.zero_grad()
    lossG = bce(D(fake), ones)
    lossG.backward()
    optG.step()

    if it % 250 == 0:
        q, m = quality()
        print(f"{it:5d}  D {lossD.item():.3f}  G {lossG.item():.3f}  near a mode {q:.2f}  modes {m}/8")

q, m = quality(10000)
print(f"share of samples near a mode: {q:.3f}, modes covered: {m}")
