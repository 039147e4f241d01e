import torch
from torch import nn

torch.manual_seed(304)
# ring of eight gaussians
def real(n):
    k = torch.randint(0, 8, (n,)) * (2 * torch.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.1 * torch.randn(n, 2)
G = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
one, zero = torch.ones(128, 1), torch.zeros(128, 1)
for step in range(2500):
    fake = G(torch.randn(128, 8))
    ld = bce(D(real(128)), 0.9 * one) + bce(D(fake.detach()), zero)
    od.zero_grad()
    ld.backward()
    od.step()
    lg = bce(D(fake), one)
    og.zero_grad()
    lg.backward()
    og.step()
    if step % 500 == 499:
        with torch.no_grad():
            f = G(torch.randn(1000, 8))
        ang = torch.atan2(f[:, 1], f[:, 0]).div(torch.pi / 4).round().long() % 8
        good = (f.norm(dim=1) - 2).abs() < 0.4
        print(f"step {step + 1} D {ld.item():.3f} G {lg.item():.3f} modes {len(ang[good].unique())} near the ring {good.float().mean():.2f}")
