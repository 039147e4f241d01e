# WGAN-GP on a noisy spiral arm
import math

import torch
from torch import autograd, nn

torch.manual_seed(2024)

batch = 64
z_dim = 4
n_critic = 4
lambda_gp = 1.0
iterations = 1000


def real_samples(n):
    t = 1.0 + 3.0 * torch.rand(n)
    points = torch.stack([t * t.cos(), t * t.sin()], dim=1) / 2
    return points + 0.08 * torch.randn(n, 2)


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2),
                         nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


generator = mlp(z_dim, 2)
critic = mlp(2, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
sched_g = torch.optim.lr_scheduler.LinearLR(opt_g, 1.0, 0.05, iterations)
sched_c = torch.optim.lr_scheduler.LinearLR(opt_c, 1.0, 0.05, iterations)


def gradient_penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mix)
    (grad,) = autograd.grad(score.sum(), mix, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for it in range(1, iterations + 1):
    for _ in range(n_critic):
        real = real_samples(batch)
        with torch.no_grad():
            fake = generator(torch.randn(batch, z_dim))
        critic_loss = critic(fake).mean() - critic(real).mean() + lambda_gp * gradient_penalty(real, fake)
        opt_c.zero_grad()
        critic_loss.backward()
        opt_c.step()

    gen_loss = -critic(generator(torch.randn(batch, z_dim))).mean()
    opt_g.zero_grad()
    gen_loss.backward()
    opt_g.step()
    sched_g.step()
    sched_c.step()

    if it % 100 == 0:
        print(f"iter {it:5d}  critic loss {critic_loss.item():+.4f}  generator loss {gen_loss.item():+.4f}")

with torch.no_grad():
    samples = generator(torch.randn(2000, z_dim))
curve_t = torch.linspace(1.0, 4.0, 300)
curve = torch.stack([curve_t * curve_t.cos(), curve_t * curve_t.sin()], dim=1) / 2
dist, nearest = torch.cdist(samples, curve).min(dim=1)
print("samples per tenth of the arm:", torch.histc(nearest.float(), bins=10).long().tolist())
print(f"share of samples within 0.25 of the arm: {(dist < 0.25).float().mean().item():.3f}")
