"""GAN on a ring of 8 Gaussians. Homework 4, part 2."""
import math
import torch
from torch import nn

SEED = 1
torch.manual_seed(SEED)
torch.set_num_threads(1)


def real_batch(n):
    k = torch.randint(0, 8, (n,)).float() * (2 * math.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.08 * torch.randn(n, 2)


def mlp(i, o, act):
    return nn.Sequential(nn.Linear(i, 96), act, nn.Linear(96, 96), act, nn.Linear(96, o))


G = mlp(8, 2, nn.ReLU())
D = mlp(2, 1, nn.LeakyReLU(0.2))
optG = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.99))
optD = torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
B = 128
one, zero = torch.ones(B, 1), torch.zeros(B, 1)

for step in range(1, 4001):
    real = real_batch(B)
    # generate once, use for both updates (the graph must not be freed twice)
    fake = G(torch.randn(B, 8)).detach()

    optD.zero_grad()
    lossD = bce(D(real), one) + bce(D(fake), zero)
    lossD.backward()
    optD.step()

    optG.zero_grad()
    lossG = bce(D(fake), one)
    lossG.backward()
    optG.step()

    if step % 400 == 0:
        print(f"step {step} D {lossD.item():.3f} G {lossG.item():.3f}")

with torch.no_grad():
    s = G(torch.randn(4000, 8))
ang = torch.arange(8).float() * (2 * math.pi / 8)
centres = torch.stack([ang.cos(), ang.sin()], 1) * 2
d, which = torch.cdist(s, centres).min(1)
good = d < 0.35
print("share of samples near a mode: %.3f, modes covered: %d of 8" % (good.float().mean().item(), len(which[good].unique())))
