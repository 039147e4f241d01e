"""WGAN-GP on a ring of Gaussians."""
import argparse
import math
import torch
import torch.nn as nn


def real_batch(n, modes=6, radius=1.5, std=0.08):
    k = torch.randint(modes, (n,))
    ang = 2 * math.pi * k / modes
    return torch.stack([ang.cos(), ang.sin()], 1) * radius + std * torch.randn(n, 2)


def mlp(i, o, h=96):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = critic(mix)
    grad, = torch.autograd.grad(out.sum(), mix, create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


def coverage(fake, modes=6, radius=1.5):
    ang = 2 * math.pi * torch.arange(modes) / modes
    centers = torch.stack([ang.cos(), ang.sin()], 1) * radius
    d, k = torch.cdist(fake, centers).min(1)
    good = d < 0.35
    return good.float().mean().item(), len(set(k[good].tolist()))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=2200)
    ap.add_argument("--n-critic", type=int, default=5)
    ap.add_argument("--gp", type=float, default=1.0)
    ap.add_argument("--z", type=int, default=8)
    ap.add_argument("--lr", type=float, default=5e-4)
    args = ap.parse_args()
    torch.manual_seed(0)
    G, D = mlp(args.z, 2), mlp(2, 1)
    og = torch.optim.Adam(G.parameters(), lr=args.lr, betas=(0.0, 0.9))
    od = torch.optim.Adam(D.parameters(), lr=args.lr, betas=(0.0, 0.9))
    for it in range(1, args.iters + 1):
        for _ in range(args.n_critic):
            real = real_batch(128)
            fake = G(torch.randn(128, args.z)).detach()
            d_loss = D(fake).mean() - D(real).mean() + args.gp * gradient_penalty(D, real, fake)
            od.zero_grad()
            d_loss.backward()
            od.step()
        g_loss = -D(G(torch.randn(128, args.z))).mean()
        og.zero_grad()
        g_loss.backward()
        og.step()
        if it % 150 == 0:
            with torch.no_grad():
                frac, n = coverage(G(torch.randn(1000, args.z)))
            print(f"iter {it} critic loss {d_loss.item():.3f} gen loss {g_loss.item():.3f} on-mode {frac:.2f} modes {n}/6")


if __name__ == "__main__":
    main()
