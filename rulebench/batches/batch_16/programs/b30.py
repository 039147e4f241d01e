"""Minimal GAN on a ring of Gaussians."""
import argparse
import math
import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self, z_dim, hidden=64):
        super().__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(
            nn.Linear(z_dim, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, 2))

    def sample(self, n):
        return self.net(torch.randn(n, self.z_dim))


class Discriminator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
            nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def real_batch(n, modes=6, radius=2.0, std=0.15):
    k = torch.randint(0, modes, (n,)).float() * 2 * math.pi / modes
    centre = radius * torch.stack([k.cos(), k.sin()], 1)
    return centre + std * torch.randn(n, 2)


def distance(a, b):
    """Energy distance between two samples."""
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def train(args):
    torch.manual_seed(args.seed)
    G, D = Generator(args.z_dim), Discriminator()
    opt_g = torch.optim.Adam(G.parameters(), lr=args.lr, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=args.lr, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(args.batch), torch.zeros(args.batch)
    ref = real_batch(1000)
    for step in range(1, args.steps + 1):
        fake = G.sample(args.batch).detach()
        d_loss = bce(D(real_batch(args.batch)), ones) + bce(D(fake), zeros)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        fake = G.sample(args.batch).detach()
        g_loss = bce(D(fake), ones)
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()

        if step % args.log_every == 0:
            with torch.no_grad():
                dist = distance(G.sample(1000), ref)
            print(f"step {step} d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f} energy distance {dist:.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--z-dim", type=int, default=8)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--log-every", type=int, default=300)
    ap.add_argument("--seed", type=int, default=0)
    train(ap.parse_args())
