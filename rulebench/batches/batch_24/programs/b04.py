"""WGAN with weight clipping on a ring of Gaussians."""
import math
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
np.random.seed(0)

MODES, RADIUS, STD = 6, 1.0, 0.06
LATENT, BATCH, N_CRITIC, CLIP = 4, 128, 4, 0.1


def real_batch(n):
    k = torch.randint(0, MODES, (n,))
    ang = 2 * math.pi * k / MODES
    c = torch.stack([ang.cos(), ang.sin()], 1) * RADIUS
    return c + STD * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


G, D = Generator(), Critic()
opt_g = torch.optim.RMSprop(G.parameters(), lr=1e-3)
opt_d = torch.optim.RMSprop(D.parameters(), lr=1e-3)


@torch.no_grad()
def quality(n=2000):
    x = G(torch.randn(n, LATENT))
    ang = 2 * math.pi * torch.arange(MODES) / MODES
    centres = torch.stack([ang.cos(), ang.sin()], 1) * RADIUS
    d = torch.cdist(x, centres)
    near, which = d.min(1)
    close = near < 4 * STD
    covered = (torch.bincount(which[close], minlength=MODES) > n * 0.01).sum().item()
    return close.float().mean().item(), covered, near.mean().item()


print("start", quality())
for it in range(1, 1201):
    for _ in range(N_CRITIC):
        x = real_batch(BATCH)
        with torch.no_grad():
            fake = G(torch.randn(BATCH, LATENT))
        loss_d = D(fake).mean() - D(x).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        with torch.no_grad():
            for p in D.parameters():
                p.clamp_(-CLIP, CLIP)

    loss_g = -D(G(torch.randn(BATCH, LATENT))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if it % 120 == 0:
        frac, covered, dist = quality()
        print(f"iter {it:5d} critic {loss_d.item():+.4f} gen {loss_g.item():+.4f} close {frac:.3f} modes {covered}/{MODES} dist {dist:.3f}")
