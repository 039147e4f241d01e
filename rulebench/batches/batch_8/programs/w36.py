import math
import torch
import torch.nn as nn

# GAN on a ring of eight gaussians
torch.manual_seed(10)


def real_batch(n):
    k = torch.randint(0, 8, (n,))
    ang = k * 2 * math.pi / 8
    return torch.stack([torch.cos(ang), torch.sin(ang)], 1) * 2 + 0.05 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
B = 128
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)

for step in range(3000):
    real = real_batch(B)
    fake = G(torch.randn(B, 8))
    loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(D(G(torch.randn(B, 8))), zeros)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 300 == 299:
        with torch.no_grad():
            s = G(torch.randn(1000, 8))
            r = s.norm(dim=1)
        print(f"{step + 1} D {loss_d.item():.3f} G {loss_g.item():.3f} "
              f"radius {r.mean():.2f} share on the ring {((r - 2).abs() < 0.3).float().mean():.2f}")
