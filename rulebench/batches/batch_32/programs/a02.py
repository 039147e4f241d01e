# Toy WGAN on a ring of 8 gaussians (after Arjovsky et al. 2017)
import math
import numpy as np
import torch
import torch.nn as nn

SEED = 1
torch.manual_seed(SEED)

N_CRITIC, CLIP, LR, BATCH = 5, 0.1, 5e-4, 256


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = k.float() * math.pi / 4
    c = torch.stack([ang.cos(), ang.sin()], 1) * 2
    return c + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
C = nn.Sequential(nn.Linear(2, 128), nn.LeakyReLU(0.2), nn.Linear(128, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
optG = torch.optim.RMSprop(G.parameters(), lr=LR)
optC = torch.optim.RMSprop(C.parameters(), lr=LR)


def sliced_w(a, b, n_proj=64):
    th = torch.rand(n_proj) * math.pi
    d = torch.stack([th.cos(), th.sin()])
    return (torch.sort(a @ d, 0)[0] - torch.sort(b @ d, 0)[0]).abs().mean().item()


with torch.no_grad():
    print("before: sliced W1 = %.3f" % sliced_w(G(torch.randn(2000, 4)), real_batch(2000)))

for it in range(2500):
    for _ in range(N_CRITIC):
        x = real_batch(BATCH)
        with torch.no_grad():
            fake = G(torch.randn(BATCH, 4))
        lossC = C(fake).mean() - C(x).mean()
        optC.zero_grad()
        lossC.backward()
        optC.step()
        for p in C.parameters():
            p.data.clamp_(-CLIP, CLIP)
    lossG = -C(G(torch.randn(BATCH, 4))).mean()
    optG.zero_grad()
    lossG.backward()
    optG.step()
    if it % 250 == 0:
        print(f"it {it:5d}  critic {lossC.item():+.4f}  gen {lossG.item():+.4f}")

with torch.no_grad():
    g = G(torch.randn(4000, 4))
    print("after: sliced W1 = %.3f" % sliced_w(g, real_batch(4000)))
