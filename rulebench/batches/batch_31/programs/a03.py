# Toy WGAN on a ring of 8 gaussians. Critic is clipped after every update,
# 5 critic updates per generator update, RMSprop (as in the paper).
import math
import torch
import torch.nn as nn

SEED = 3
torch.manual_seed(SEED)
torch.set_num_threads(1)
K, BS, ZDIM = 8, 256, 4
centers = torch.tensor([[math.cos(2 * math.pi * k / K), math.sin(2 * math.pi * k / K)] for k in range(K)])


def real_batch(n):
    return centers[torch.randint(K, (n,))] + 0.05 * torch.randn(n, 2)


def mlp(i, o, h=96):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2),
                         nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


G, C = mlp(ZDIM, 2), mlp(2, 1)
opt_g = torch.optim.RMSprop(G.parameters(), lr=5e-4)
opt_c = torch.optim.RMSprop(C.parameters(), lr=5e-4)
CLIP = 0.1


def quality(n=2000):
    with torch.no_grad():
        s = G(torch.randn(n, ZDIM))
    d, who = torch.cdist(s, centers).min(1)
    hit = d < 0.25
    modes = torch.bincount(who[hit], minlength=K)
    return hit.float().mean().item(), int((modes > n * 0.02).sum())


print("start: on-mode %.3f, modes %d" % quality())
for it in range(1, 1501):
    for p in C.parameters():
        p.requires_grad_(True)
    for _ in range(5):
        with torch.no_grad():
            fake = G(torch.randn(BS, ZDIM))
        loss_c = C(fake).mean() - C(real_batch(BS)).mean()
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
        with torch.no_grad():
            for p in C.parameters():
                p.clamp_(-CLIP, CLIP)
    for p in C.parameters():
        p.requires_grad_(False)
    loss_g = -C(G(torch.randn(BS, ZDIM))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 250 == 0:
        print("it %d  W~%.4f  loss_g %.4f  on-mode %.3f modes %d" % (it, -loss_c.item(), loss_g.item(), *quality()))
print("final: share of samples near a mode %.3f, modes covered %d of %d" % (*quality(5000), K))
