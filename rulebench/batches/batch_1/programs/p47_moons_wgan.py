"""WGAN-GP on two moons."""
import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(40)
data = torch.tensor(make_moons(4000, noise=0.05, random_state=40)[0], dtype=torch.float32)
data = (data - data.mean(0)) / data.std(0)
Z, B = 4, 96


def net(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


gen, critic = net(Z, 2), net(2, 1)
og = torch.optim.Adam(gen.parameters(), lr=3e-4, betas=(0.0, 0.9))
oc = torch.optim.Adam(critic.parameters(), lr=3e-4, betas=(0.0, 0.9))


def penalty(r, f):
    a = torch.rand(len(r), 1)
    x = (a * r + (1 - a) * f).requires_grad_(True)
    g, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return ((g.norm(dim=1) - 1) ** 2).mean()


def sliced_w(a, b, k=64):
    d = torch.randn(2, k)
    d = d / d.norm(dim=0)
    return ((a @ d).sort(0).values - (b @ d).sort(0).values).abs().mean().item()


for it in range(1800):
    for _ in range(4):
        real = data[torch.randint(0, len(data), (B,))]
        fake = gen(torch.randn(B, Z)).detach()
        c_loss = critic(fake).mean() - critic(real).mean() + 1.0 * penalty(real, fake)
        oc.zero_grad()
        c_loss.backward()
        oc.step()
    g_loss = -critic(gen(torch.randn(B, Z))).mean()
    og.zero_grad()
    g_loss.backward()
    og.step()
    if it % 150 == 0:
        with torch.no_grad():
            sw = sliced_w(gen(torch.randn(4000, Z)), data)
        print(f"it {it} critic {c_loss.item():.3f} gen {g_loss.item():.3f} sliced-W {sw:.3f}")
