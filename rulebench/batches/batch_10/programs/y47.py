import torch
import torch.nn as nn

# 1-d GAN: match a mixture of two gaussians; separate optimizers and learning rates
torch.manual_seed(210)


def real(n):
    s = torch.where(torch.rand(n, 1) < 0.5, -1.2, 1.2)
    return s + 0.5 * torch.randn(n, 1)


gen = nn.Sequential(nn.Linear(4, 64), nn.LeakyReLU(0.1), nn.Linear(64, 64), nn.LeakyReLU(0.1), nn.Linear(64, 1))
dis = nn.Sequential(nn.Linear(1, 48), nn.LeakyReLU(0.1), nn.Linear(48, 48), nn.LeakyReLU(0.1), nn.Linear(48, 1))
og = torch.optim.Adam(gen.parameters(), lr=5e-4, betas=(0.5, 0.999))
od = torch.optim.Adam(dis.parameters(), lr=1e-3, betas=(0.5, 0.999))
loss_fn = nn.BCEWithLogitsLoss()
n = 128
for step in range(3000):
    z = torch.randn(n, 4)
    with torch.no_grad():
        f = gen(z)
    ld = loss_fn(dis(real(n)), torch.full((n, 1), 0.9)) + loss_fn(dis(f), torch.zeros(n, 1))
    od.zero_grad()
    ld.backward()
    od.step()
    lg = loss_fn(dis(gen(torch.randn(n, 4))), torch.ones(n, 1))
    og.zero_grad()
    lg.backward()
    og.step()
    if step % 300 == 299:
        with torch.no_grad():
            s = gen(torch.randn(4000, 4))
        print(f"step {step + 1} D {ld.item():.3f} G {lg.item():.3f} mean {s.mean():.3f} std {s.std():.3f} right mode {(s > 0).float().mean():.3f}")
with torch.no_grad():
    a, b = gen(torch.randn(4000, 4)).sort(0)[0], real(4000).sort(0)[0]
print("wasserstein-1 distance", (a - b).abs().mean().item())
