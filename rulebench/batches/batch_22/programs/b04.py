# WGAN (weight clipping) on a ring of eight gaussians
import math
import torch
import torch.nn as nn

torch.manual_seed(2)
Z_DIM, BATCH, N_CRITIC, CLIP = 8, 128, 5, 0.1
G_STEPS = 1500


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = k.float() * (2 * math.pi / 8)
    return 2.0 * torch.stack([ang.cos(), ang.sin()], 1) + 0.1 * torch.randn(n, 2)


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


G, C = mlp(Z_DIM, 2), mlp(2, 1)
opt_g = torch.optim.RMSprop(G.parameters(), lr=5e-4)
opt_c = torch.optim.RMSprop(C.parameters(), lr=5e-4)


@torch.no_grad()
def report(step, w):
    x = G(torch.randn(2000, Z_DIM))
    ang = torch.arange(8) * (2 * math.pi / 8)
    centers = 2.0 * torch.stack([ang.cos(), ang.sin()], 1)
    d, idx = torch.cdist(x, centers).min(1)
    share = torch.bincount(idx[d < 0.5], minlength=8) / 2000
    print(f"step {step} wasserstein estimate {w:.4f} mean distance {d.mean():.3f} modes {(share > 0.03).sum().item()}/8")


for step in range(1, G_STEPS + 1):
    for _ in range(N_CRITIC):
        fake = G(torch.randn(BATCH, Z_DIM)).detach()
        loss_c = C(fake).mean() - C(real_batch(BATCH)).mean()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        for p in C.parameters():
            p.data.clamp_(-CLIP, CLIP)
    loss_g = -C(G(torch.randn(BATCH, Z_DIM))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 150 == 0:
        report(step, -loss_c.item())
