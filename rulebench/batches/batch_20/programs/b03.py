"""GAN on a ring of eight Gaussians."""
import argparse
import math
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1500)
parser.add_argument("--batch", type=int, default=128)
parser.add_argument("--zdim", type=int, default=8)
parser.add_argument("--lr_g", type=float, default=2e-3)
parser.add_argument("--lr_d", type=float, default=2e-3)
parser.add_argument("--seed", type=int, default=0)
args = parser.parse_args()
torch.manual_seed(args.seed)

angles = torch.arange(8) * (2 * math.pi / 8)
centers = torch.stack([angles.cos(), angles.sin()], 1) * 2.0


def sample_real(n):
    idx = torch.randint(0, 8, (n,))
    return centers[idx] + 0.05 * torch.randn(n, 2)


def mlp(i, o, h=64):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2),
                         nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


G = mlp(args.zdim, 2)
D = mlp(2, 1)
opt_g = torch.optim.Adam(G.parameters(), lr=args.lr_g, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=args.lr_d, betas=(0.5, 0.9))
bce = nn.BCEWithLogitsLoss()


def r1_penalty(x):
    x = x.detach().requires_grad_(True)
    grad, = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return grad.pow(2).sum(1).mean()


@torch.no_grad()
def quality(n=2000):
    s = G(torch.randn(n, args.zdim))
    dist, mode = torch.cdist(s, centers).min(1)
    good = dist < 0.3
    counts = torch.bincount(mode[good], minlength=8)
    return good.float().mean().item(), int((counts > n * 0.02).sum())


for step in range(1, args.steps + 1):
    # discriminator
    real = sample_real(args.batch)
    fake = G(torch.randn(args.batch, args.zdim)).detach()
    loss_d = (bce(D(real), torch.ones(args.batch, 1))
              + bce(D(fake), torch.zeros(args.batch, 1))
              + 0.05 * r1_penalty(real))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    # generator
    fake = G(torch.randn(args.batch, args.zdim))
    loss_g = bce(D(fake), torch.ones(args.batch, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step % 150 == 0:
        hq, modes = quality()
        print(f"step {step}: D {loss_d.item():.3f}  G {loss_g.item():.3f}  "
              f"good samples {hq:.2f}  modes {modes}/8")
