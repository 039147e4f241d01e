import math, torch
from torch import nn, autograd
# WGAN-GP on a ring of 8 Gaussians

torch.manual_seed(0)
centres = torch.tensor([[math.cos(2 * math.pi * k / 8), math.sin(2 * math.pi * k / 8)] for k in range(8)])
def real(n): return centres[torch.randint(0, 8, (n,))] + 0.05 * torch.randn(n, 2)

G = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(.2), nn.Linear(64, 64), nn.LeakyReLU(.2), nn.Linear(64, 1))
og = torch.optim.Adam(G.parameters(), 5e-4, betas=(0., .9))
od = torch.optim.Adam(D.parameters(), 5e-4, betas=(0., .9))
B, LAMBDA, N_CRITIC = 128, 1.0, 4

for it in range(1500):
    for _ in range(N_CRITIC):
        x = real(B)
        with torch.no_grad():
            f = G(torch.randn(B, 4))
        a = torch.rand(B, 1)
        mix = (a * x + (1 - a) * f).requires_grad_(True)
        g, = autograd.grad(D(mix).sum(), mix, create_graph=True)
        gp = ((g.norm(2, dim=1) - 1) ** 2).mean()
        w = D(x).mean() - D(f).mean()
        d_loss = -w + LAMBDA * gp
        od.zero_grad(); d_loss.backward(); od.step()
    for p in D.parameters(): p.requires_grad_(False)
    g_loss = -D(G(torch.randn(B, 4))).mean()
    og.zero_grad(); g_loss.backward(); og.step()
    for p in D.parameters(): p.requires_grad_(True)
    if it % 150 == 0:
        print(f'it {it} critic {d_loss.item():.4f} wasserstein {w.item():.4f} gen {g_loss.item():.4f}')

with torch.no_grad():
    s = G(torch.randn(2000, 4))
d = torch.cdist(s, centres)
print('modes covered:', (torch.bincount(d.argmin(1)[d.min(1).values < .25], minlength=8) > 40).sum().item(),
      ' share near a mode: %.3f' % (d.min(1).values < .25).float().mean().item())
