# WGAN-GP on a 2-D mixture (8 gaussians on a ring), after Gulrajani et al. 2017
import math
import torch
from torch import nn, autograd

seed = 1
torch.manual_seed(seed)
torch.set_num_threads(1)

Z, H, B = 8, 96, 256
N_CRITIC, LAMBDA = 5, 0.5
ITERS = 1000

centers = torch.tensor([[math.cos(a), math.sin(a)] for a in torch.arange(8) * math.pi / 4]) * 2.0


def real(n):
    return centers[torch.randint(0, 8, (n,))] + 0.1 * torch.randn(n, 2)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, H), nn.ReLU(), nn.Linear(H, H), nn.ReLU(),
                         nn.Linear(H, H), nn.ReLU(), nn.Linear(H, o))


G, D = mlp(Z, 2), mlp(2, 1)
optG = torch.optim.Adam(G.parameters(), lr=4e-4, betas=(0.0, 0.9))
optD = torch.optim.Adam(D.parameters(), lr=4e-4, betas=(0.0, 0.9))


def penalty(xr, xf):
    e = torch.rand(len(xr), 1)
    x = (e * xr + (1 - e) * xf).requires_grad_(True)
    g, = autograd.grad(D(x).sum(), x, create_graph=True)
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


for it in range(1, ITERS + 1):
    for _ in range(N_CRITIC):
        xr = real(B)
        xf = G(torch.randn(B, Z)).detach()
        lossD = D(xf).mean() - D(xr).mean() + LAMBDA * penalty(xr, xf)
        optD.zero_grad()
        lossD.backward()
        optD.step()

    lossG = -D(G(torch.randn(B, Z))).mean()
    optG.zero_grad()
    lossG.backward()
    optG.step()

    if it % 100 == 0:
        with torch.no_grad():
            ed = energy_distance(G(torch.randn(1500, Z)), real(1500))
        print(f"[{it:4d}] critic {lossD.item():+.4f}  gen {lossG.item():+.4f}  energy dist {ed:.4f}")

with torch.no_grad():
    s = G(torch.randn(4000, Z))
d, k = torch.cdist(s, centers).min(1)
print("energy distance: %.4f" % energy_distance(s[:2000], real(2000)),
      "| modes hit:", int((torch.bincount(k[d < 0.4], minlength=8) > 100).sum()), "/ 8",
      "| good samples: %.3f" % (d < 0.4).float().mean())
