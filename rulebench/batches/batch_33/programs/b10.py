import math
import torch
from torch import nn, optim
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_num_threads(1)

# --- toy GAN: 8 gaussians on a circle -----------------------------------
Z, B, STEPS = 8, 256, 3000


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = k.float() * (2 * math.pi / 8)
    c = torch.stack([ang.cos(), ang.sin()], 1) * 2.0
    return c + 0.12 * torch.randn(n, 2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, o))


netG = mlp(Z, 2)
netD = mlp(2, 1)
for layer in netD:
    if isinstance(layer, nn.Linear):
        nn.utils.parametrizations.spectral_norm(layer)
optG = optim.Adam(netG.parameters(), lr=5e-4, betas=(0.5, 0.9))
optD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))


def coverage(n=4000):
    """mean distance from generated points to nearest mode, and modes hit."""
    with torch.no_grad():
        s = netG(torch.randn(n, Z))
    ang = torch.arange(8).float() * (2 * math.pi / 8)
    modes = torch.stack([ang.cos(), ang.sin()], 1) * 2.0
    dist, which = torch.cdist(s, modes).min(1)
    good = dist < 0.45
    hit = sum(int((which[good] == k).sum() > n * 0.01) for k in range(8))
    return dist.mean().item(), good.float().mean().item(), hit


for step in range(1, STEPS + 1):
    # update D (hinge loss)
    x, fake = real_batch(B), netG(torch.randn(B, Z))
    lossD = F.relu(1 - netD(x)).mean() + F.relu(1 + netD(fake)).mean()
    optD.zero_grad()
    lossD.backward()
    optD.step()

    # update G
    lossG = -netD(netG(torch.randn(B, Z))).mean()
    lossG.backward()
    optG.step()
    optG.zero_grad()

    if step % 500 == 0:
        m, q, hit = coverage()
        print(f"[{step:5d}] D {lossD.item():.3f}  G {lossG.item():.3f}  dist {m:.3f}  good {q:.2f}  modes {hit}/8")

m, q, hit = coverage(10000)
print(f"final: {q * 100:.1f}% of samples near a mode, {hit}/8 modes, mean distance {m:.3f}")
