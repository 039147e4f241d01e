"""SimCLR-style contrastive pre-training on synthetic spectra + linear probe."""
import math
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)
C, D, N = 5, 64, 1500
grid = torch.linspace(0, 1, D)
centres = torch.rand(C, 3) * 0.8 + 0.1
label = torch.randint(0, C, (N,))
spec = sum(torch.exp(-((grid - centres[label, k][:, None]) / 0.04) ** 2) for k in range(3))


def augment(x):
    x = x * (0.6 + 0.8 * torch.rand(len(x), 1))                # gain
    x = x + 0.3 * torch.randn(len(x), 1) * grid                # baseline tilt
    return x + 0.1 * torch.randn_like(x)


enc = nn.Sequential(nn.Linear(D, 96), nn.ReLU(), nn.Linear(96, 32))
proj = nn.Sequential(nn.ReLU(), nn.Linear(32, 16))
opt = torch.optim.Adam([*enc.parameters(), *proj.parameters()], lr=2e-3)
B, tau = 96, 0.5
print("upper reference log(2B-1) = %.3f" % math.log(2 * B - 1))
for step in range(400):
    x = spec[torch.randint(0, N, (B,))]
    z = F.normalize(proj(enc(torch.cat([augment(x), augment(x)]))), dim=1)
    sim = z @ z.T / tau
    sim.fill_diagonal_(-1e9)
    tgt = torch.arange(2 * B).roll(B)
    loss = F.cross_entropy(sim, tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"step {step} nt-xent {loss.item():.4f}")

with torch.no_grad():
    feats = enc(augment(spec))
probe = nn.Linear(32, C)
po = torch.optim.Adam(probe.parameters(), lr=0.02)
for i in range(150):
    l = F.cross_entropy(probe(feats[:1000]), label[:1000])
    po.zero_grad(); l.backward(); po.step()
print("probe loss %.4f accuracy %.3f" % (l.item(), (probe(feats[1000:]).argmax(1) == label[1000:]).float().mean().item()))
