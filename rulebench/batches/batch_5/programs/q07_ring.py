# GAN on the ring of gaussians toy problem
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
K, Z, B = 8, 8, 256
angles = torch.arange(K) * 2 * math.pi / K
centers = 2 * torch.stack([angles.cos(), angles.sin()], 1)


def real_batch(n):
    return centers[torch.randint(K, (n,))] + 0.1 * torch.randn(n, 2)


def mlp(i, o, h=96):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


G, D = mlp(Z, 2), mlp(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))
G_avg = torch.optim.swa_utils.AveragedModel(G, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995))


@torch.no_grad()
def quality(gen):
    s = gen(torch.randn(2000, Z))
    d = torch.cdist(s, centers)
    m, idx = d.min(1)
    good = m < 0.4
    return good.float().mean().item(), (torch.bincount(idx[good], minlength=K) > 40).sum().item()


for step in range(3001):
    x = real_batch(B).requires_grad_(True)
    fake = G(torch.randn(B, Z)).detach()
    dr, df = D(x), D(fake)
    grad, = torch.autograd.grad(dr.sum(), x, create_graph=True)
    d_loss = F.softplus(-dr).mean() + F.softplus(df).mean() + 0.05 * grad.pow(2).sum(1).mean()
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()

    g_loss = F.softplus(-D(G(torch.randn(B, Z)))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    G_avg.update_parameters(G)
    if step % 500 == 0:
        q, modes = quality(G_avg)
        print(f"{step:5d} d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f} good {q:.2f} modes {modes}/{K}")
