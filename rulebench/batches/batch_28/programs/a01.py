# Wasserstein GAN on a ring of eight gaussians (toy problem of the course, week 9)
import math
import torch
import torch.nn as nn

SEED = 3
torch.manual_seed(SEED)

BATCH = 128
CRITIC_STEPS = 5
CLIP = 0.1
GEN_STEPS = 3000
Z = 4


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = 2 * math.pi * k.float() / 8
    centre = torch.stack([ang.cos(), ang.sin()], 1) * 1.5
    return centre + 0.08 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.net(z)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


G, C = Generator(), Critic()
opt_g = torch.optim.RMSprop(G.parameters(), lr=5e-4)
opt_c = torch.optim.RMSprop(C.parameters(), lr=5e-4)


def coverage(n=2000):
    with torch.no_grad():
        x = G(torch.randn(n, Z))
    ang = 2 * math.pi * torch.arange(8).float() / 8
    centres = torch.stack([ang.cos(), ang.sin()], 1) * 1.5
    d = torch.cdist(x, centres)
    near, which = d.min(1)
    hit = near < 0.35
    counts = torch.bincount(which[hit], minlength=8)
    return int((counts > n * 0.02).sum()), hit.float().mean().item()


print("start: modes %d, good samples %.2f" % coverage())
for it in range(1, GEN_STEPS + 1):
    for _ in range(CRITIC_STEPS):
        x = real_batch(BATCH)
        with torch.no_grad():
            fake = G(torch.randn(BATCH, Z))
        loss_c = C(fake).mean() - C(x).mean()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        with torch.no_grad():
            for p in C.parameters():
                p.clamp_(-CLIP, CLIP)
    loss_g = -C(G(torch.randn(BATCH, Z))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 500 == 0:
        m, h = coverage()
        print(f"it {it:5d}  critic {loss_c.item():+.4f}  gen {loss_g.item():+.4f}  modes {m}  good {h:.2f}")

m, h = coverage(5000)
print(f"final: {m} of 8 modes, {h:.3f} of samples near a mode")
