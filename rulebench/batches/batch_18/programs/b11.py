"""GAN on a ring of 2-D Gaussians, hinge loss, spectral norm, averaged generator."""
import argparse
import copy
import math

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm

MODES = torch.stack([torch.tensor([math.cos(a), math.sin(a)]) for a in torch.arange(8) * math.pi / 4])


def real_batch(n):
    return MODES[torch.randint(8, (n,))] * 1.5 + 0.08 * torch.randn(n, 2)


def generator(z=8, h=64):
    return nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2))


def critic(h=128):
    sn = spectral_norm
    return nn.Sequential(sn(nn.Linear(2, h)), nn.LeakyReLU(0.2), sn(nn.Linear(h, h)), nn.LeakyReLU(0.2),
                         sn(nn.Linear(h, h)), nn.LeakyReLU(0.2), sn(nn.Linear(h, 1)))


@torch.no_grad()
def ema_update(target, source, decay):
    for p, q in zip(target.parameters(), source.parameters()):
        p.lerp_(q, 1 - decay)


@torch.no_grad()
def quality(gen, n=2000, z=8):
    x = gen(torch.randn(n, z))
    d = torch.cdist(x, MODES * 1.5)
    dist, near = d.min(1)
    good = dist < 0.4
    covered = len(torch.unique(near[good]))
    return good.float().mean().item(), covered


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1000)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--d-steps", type=int, default=2)
    args = ap.parse_args()
    torch.manual_seed(0)
    G, D = generator(), critic()
    G_avg = copy.deepcopy(G).requires_grad_(False)
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.0, 0.9))
    for step in range(args.steps):
        for _ in range(args.d_steps):
            fake = G(torch.randn(args.batch, 8)).detach()
            loss_d = torch.relu(1 - 4 * D(real_batch(args.batch))).mean() + torch.relu(1 + 4 * D(fake)).mean()
            opt_d.zero_grad()
            loss_d.backward()
            opt_d.step()
        D.requires_grad_(False)
        loss_g = -4 * D(G(torch.randn(args.batch, 8))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        D.requires_grad_(True)
        ema_update(G_avg, G, 0.98)
        if (step + 1) % 100 == 0:
            good, modes = quality(G_avg)
            print(f"step {step + 1} D {loss_d.item():.3f} G {loss_g.item():.3f} close to a mode {good:.2f} modes {modes}/8")


if __name__ == "__main__":
    main()
