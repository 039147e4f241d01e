import torch
import torch.nn as nn
import torch.nn.functional as F

# hinge GAN that learns a 1-d mixture of two normals
torch.manual_seed(203)


def real(n):
    s = (torch.rand(n, 1) < 0.4).float()
    return s * (-1.5 + 0.2 * torch.randn(n, 1)) + (1 - s) * (1.0 + 0.4 * torch.randn(n, 1))


gen = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
sn = nn.utils.parametrizations.spectral_norm
disc = nn.Sequential(sn(nn.Linear(1, 48)), nn.LeakyReLU(0.2), sn(nn.Linear(48, 48)), nn.LeakyReLU(0.2), nn.Linear(48, 1))
og = torch.optim.Adam(gen.parameters(), lr=5e-4, betas=(0.0, 0.9))
od = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.0, 0.9))
for it in range(1500):
    for _ in range(2):
        r, f = real(128), gen(torch.randn(128, 4)).detach()
        ld = F.relu(1 - disc(r)).mean() + F.relu(1 + disc(f)).mean()
        od.zero_grad(); ld.backward(); od.step()
    lg = -disc(gen(torch.randn(128, 4))).mean()
    og.zero_grad(); lg.backward(); og.step()
    if it % 150 == 149:
        with torch.no_grad():
            s, t = gen(torch.randn(2000, 4)).sort(0).values, real(2000).sort(0).values
        print(f"{it + 1} D {ld.item():.3f} G {lg.item():.3f} wasserstein-1 {(s - t).abs().mean().item():.3f}")
