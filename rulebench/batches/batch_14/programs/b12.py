# WGAN-GP on an 8-mode ring
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
angles = torch.arange(8) * 2 * math.pi / 8
centers = torch.stack([angles.cos(), angles.sin()], 1) * 2


def real(n):
    return centers[torch.randint(0, 8, (n,))] + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.0, 0.9))

for it in range(3000):
    for _ in range(4):
        x, z = real(128), torch.randn(128, 4)
        with torch.no_grad():
            fake = G(z)
        e = torch.rand(128, 1)
        mix = (e * x + (1 - e) * fake).requires_grad_()
        gr = torch.autograd.grad(D(mix).sum(), mix, create_graph=True)[0]
        gp = ((gr.norm(dim=1) - 1) ** 2).mean()
        loss_d = D(fake).mean() - D(x).mean() + 1.0 * gp
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    loss_g = -D(G(torch.randn(128, 4))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 300 == 299:
        with torch.no_grad():
            s = G(torch.randn(1000, 4))
            dist, mode = torch.cdist(s, centers).min(1)
        print(f"it {it + 1} D {loss_d.item():.3f} G {loss_g.item():.3f} dist {dist.mean():.3f} modes {len(set(mode.tolist()))} good {(dist < 0.3).float().mean():.3f}")
