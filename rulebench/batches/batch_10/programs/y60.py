import math
import torch
import torch.nn as nn

# GAN that should learn a ring of gaussians
torch.manual_seed(3)


def real_batch(n):
    k = torch.randint(0, 6, (n,)).float() * (2 * math.pi / 6)
    return torch.stack([2 * torch.cos(k), 2 * torch.sin(k)], 1) + 0.1 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
B = 128
ones, zeros = torch.ones(B, 1), torch.zeros(B, 1)

for step in range(3000):
    real = real_batch(B)
    fake = G(torch.randn(B, 8)).detach()

    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = bce(D(fake), ones)
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

    if step % 300 == 0:
        with torch.no_grad():
            s = G(torch.randn(2000, 8))
            r = s.norm(dim=1)
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f} radius {r.mean():.2f}")

with torch.no_grad():
    s = G(torch.randn(2000, 8))
print("fraction of samples with radius in 1.6..2.4:", ((s.norm(dim=1) - 2).abs() < 0.4).float().mean().item())
