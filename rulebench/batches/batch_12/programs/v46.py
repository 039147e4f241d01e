import torch
import torch.nn as nn

torch.manual_seed(1)


def real_batch(n):
    ang = torch.rand(n) * 2 * torch.pi
    r = 2.0 + 0.1 * torch.randn(n)
    return torch.stack([r * torch.cos(ang), r * torch.sin(ang)], 1)


G = nn.Sequential(nn.Linear(4, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
B = 128
for step in range(2000):
    x = real_batch(B)
    z = torch.randn(B, 4)
    fake = G(z).detach()
    loss_d = bce(D(x), torch.ones(B, 1)) + bce(D(fake), torch.zeros(B, 1))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = bce(D(fake), torch.ones(B, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 250 == 0:
        print(step, "D", round(loss_d.item(), 3), "G", round(loss_g.item(), 3))

with torch.no_grad():
    s = G(torch.randn(1000, 4))
print("mean radius of samples (should be 2):", s.norm(dim=1).mean().item())
print("std of samples", s.std(0))
