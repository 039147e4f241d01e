"""WGAN-GP on a ring of Gaussians."""
import argparse
import math
import torch
import torch.nn as nn


def real_batch(n, modes=8, radius=1.0, std=0.05):
    k = torch.randint(0, modes, (n,))
    a = 2 * math.pi * k / modes
    return radius * torch.stack([a.cos(), a.sin()], 1) + std * torch.randn(n, 2)


def mlp(i, o, h=96, norm=False):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = critic(mix)
    grad, = torch.autograd.grad(out.sum(), mix, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def coverage(samples, modes=8, radius=1.0, tol=0.25):
    a = 2 * math.pi * torch.arange(modes) / modes
    centers = radius * torch.stack([a.cos(), a.sin()], 1)
    d, k = torch.cdist(samples, centers).min(1)
    good = d < tol
    counts = torch.bincount(k[good], minlength=modes)
    return good.float().mean().item(), int((counts > 0.02 * len(samples)).sum())


class WGAN:
    def __init__(self, z_dim, lr, gp):
        self.z_dim, self.gp = z_dim, gp
        self.gen, self.critic = mlp(z_dim, 2), mlp(2, 1)
        self.og = torch.optim.Adam(self.gen.parameters(), lr=lr, betas=(0.0, 0.9))
        self.oc = torch.optim.Adam(self.critic.parameters(), lr=lr, betas=(0.0, 0.9))

    def sample(self, n):
        return self.gen(torch.randn(n, self.z_dim))

    def critic_step(self, n):
        real = real_batch(n)
        with torch.no_grad():
            fake = self.sample(n)
        w = self.critic(real).mean() - self.critic(fake).mean()
        loss = -w + self.gp * gradient_penalty(self.critic, real, fake)
        self.oc.zero_grad()
        loss.backward()
        self.oc.step()
        return loss.item(), w.item()

    def gen_step(self, n):
        loss = -self.critic(self.sample(n)).mean()
        self.og.zero_grad()
        loss.backward()
        self.og.step()
        return loss.item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=1000)
    p.add_argument("--n-critic", type=int, default=4)
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--gp", type=float, default=1.0)
    args = p.parse_args()
    torch.manual_seed(0)
    gan = WGAN(8, args.lr, args.gp)
    for it in range(1, args.iters + 1):
        for _ in range(args.n_critic):
            lc, w = gan.critic_step(args.batch)
        lg = gan.gen_step(args.batch)
        if it % 100 == 0:
            with torch.no_grad():
                q, m = coverage(gan.sample(2000))
            print(f"iter {it} critic loss {lc:.4f} wasserstein {w:.4f} gen loss {lg:.4f} good samples {q:.3f} modes {m}/8")


if __name__ == "__main__":
    main()
