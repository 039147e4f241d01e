# Wasserstein GAN (Arjovsky et al., 2017) on a ring of eight Gaussians
import torch
from torch import nn, optim
import math

torch.manual_seed(5)
CRITIC_STEPS, CLIP, BATCH, ITERS = 5, 0.1, 128, 1500


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    a = k.float() * math.pi / 4
    return torch.stack([a.cos(), a.sin()], 1) * 2 + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
C = nn.Sequential(nn.Linear(2, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))
opt_g = optim.RMSprop(G.parameters(), lr=3e-4)
opt_c = optim.RMSprop(C.parameters(), lr=3e-4)


def energy_distance(n=1500):
    """0 when both clouds are equally distributed"""
    with torch.no_grad():
        x, y = real_batch(n), G(torch.randn(n, 8))
        return (2 * torch.cdist(x, y).mean() - torch.cdist(x, x).mean() - torch.cdist(y, y).mean()).item()


print("before:", energy_distance())
for it in range(ITERS):
    for _ in range(CRITIC_STEPS):
        with torch.no_grad():
            fake = G(torch.randn(BATCH, 8))
        loss_c = C(fake).mean() - C(real_batch(BATCH)).mean()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        with torch.no_grad():
            for p in C.parameters():
                p.clamp_(-CLIP, CLIP)
    loss_g = -C(G(torch.randn(BATCH, 8))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 150 == 0:
        print(f"{it:5d} critic {loss_c.item():+.4f} generator {loss_g.item():+.4f} energy distance {energy_distance():.4f}")

with torch.no_grad():
    s = G(torch.randn(4000, 8))
    ang = (torch.atan2(s[:, 1], s[:, 0]) / (math.pi / 4)).round().long() % 8
print("share per mode:", (torch.bincount(ang, minlength=8) / 4000).tolist())
print("energy distance after training: %.4f" % energy_distance())
