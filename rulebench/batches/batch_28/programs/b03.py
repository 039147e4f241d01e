"""Small GAN that learns a 2-D density (two moons style banana)."""
import torch, torch.nn as nn
import numpy as np
from sklearn.datasets import make_moons

torch.manual_seed(1)
np.random.seed(1)
data, _ = make_moons(4000, noise=0.05, random_state=1)
data = torch.tensor((data - data.mean(0)) / data.std(0), dtype=torch.float32)
train, held = data[:3000], data[3000:]
Z = 8


class G(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.f(z)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.f(x).squeeze(1)


netG, netD = G(), D()
optG = torch.optim.Adam(netG.parameters(), lr=5e-4, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=5e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def sliced_w(a, b, n=200):
    g = torch.Generator().manual_seed(0)
    dirs = torch.randn(2, n, generator=g)
    dirs = dirs / dirs.norm(dim=0)
    pa, pb = (a @ dirs).sort(0)[0], (b @ dirs).sort(0)[0]
    return (pa - pb).abs().mean().item()


bs = 128
for step in range(4000):
    optG.zero_grad()
    optD.zero_grad()
    real = train[torch.randint(0, len(train), (bs,))]
    fake = netG(torch.randn(bs, Z))

    # --- discriminator
    lossD = bce(netD(real), torch.ones(bs)) + bce(netD(fake), torch.zeros(bs))
    lossD.backward(retain_graph=True)
    optD.step()

    # --- generator
    fake2 = netG(torch.randn(bs, Z))
    lossG = bce(netD(fake2), torch.ones(bs))
    lossG.backward()
    optG.step()

    if step % 400 == 0:
        with torch.no_grad():
            sw = sliced_w(netG(torch.randn(1000, Z)), held)
        print(f"[{step}] lossD {lossD.item():.3f} lossG {lossG.item():.3f} SW {sw:.3f}")

with torch.no_grad():
    print("final sliced wasserstein to held-out points: %.4f" % sliced_w(netG(torch.randn(1000, Z)), held))
