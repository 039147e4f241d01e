# 2-D GAN on a ring of eight gaussians (weekend project)
import math
import torch
import torch.nn as nn

torch.manual_seed(7)
torch.set_num_threads(1)

BATCH, ZDIM, STEPS = 256, 8, 2500


def sample_ring(n):
    k = torch.randint(0, 8, (n,)).float() * (2 * math.pi / 8)
    centres = torch.stack([torch.cos(k), torch.sin(k)], 1) * 2.0
    return centres + 0.08 * torch.randn(n, 2)


def mlp(i, o, h=128):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


G, D = mlp(ZDIM, 2), mlp(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)

for step in range(STEPS):
    real = sample_ring(BATCH).requires_grad_(True)
    fake = G(torch.randn(BATCH, ZDIM))
    d_real, d_fake = D(real), D(fake.detach())
    grad_real, = torch.autograd.grad(d_real.sum(), real, create_graph=True)
    r1 = grad_real.pow(2).sum(1).mean()
    loss_d = bce(d_real, ones) + bce(d_fake, zeros) + 0.05 * r1
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(D(fake), ones)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step % 250 == 0 or step == STEPS - 1:
        with torch.no_grad():
            s = G(torch.randn(2000, ZDIM))
            ang = torch.arange(8) * (2 * math.pi / 8)
            c = torch.stack([torch.cos(ang), torch.sin(ang)], 1) * 2.0
            d, idx = torch.cdist(s, c).min(1)
            good = d < 0.35
            modes = idx[good].unique().numel()
        print(f"step {step:5d} D {loss_d.item():.3f} G {loss_g.item():.3f} "
              f"modes {modes}/8 close {good.float().mean():.2f}")
