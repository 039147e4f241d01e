"""Small denoising diffusion model on 2-D points (two moons)."""
import argparse
import math
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_moons


class Schedule:
    def __init__(self, steps=100, beta_min=1e-4, beta_max=0.06):
        self.steps = steps
        self.betas = torch.linspace(beta_min, beta_max, steps)
        self.alphas = 1.0 - self.betas
        self.alpha_bar = torch.cumprod(self.alphas, 0)

    def q_sample(self, x0, t, noise):
        ab = self.alphas[t].unsqueeze(-1)
        return ab.sqrt() * x0 + (1.0 - ab).sqrt() * noise


class EpsNet(nn.Module):
    def __init__(self, steps, width=96, emb=32):
        super().__init__()
        half = emb // 2
        freqs = torch.exp(-math.log(1000.0) * torch.arange(half) / half)
        table = torch.arange(steps).float()[:, None] * freqs[None]
        self.register_buffer("table", torch.cat([table.sin(), table.cos()], -1))
        self.net = nn.Sequential(
            nn.Linear(2 + emb, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.table[t]], -1))


@torch.no_grad()
def sample(model, sched, n):
    model.eval()
    x = torch.randn(n, 2)
    for i in reversed(range(sched.steps)):
        t = torch.full((n,), i, dtype=torch.long)
        eps = model(x, t)
        coef = sched.betas[i] / (1 - sched.alpha_bar[i]).sqrt()
        x = (x - coef * eps) / sched.alphas[i].sqrt()
        if i > 0:
            x = x + sched.betas[i].sqrt() * torch.randn_like(x)
    return x


def sliced_w(a, b, n_proj=64):
    g = torch.Generator().manual_seed(0)
    d = torch.randn(2, n_proj, generator=g)
    d = d / d.norm(dim=0)
    pa, pb = (a @ d).sort(0)[0], (b @ d).sort(0)[0]
    return (pa - pb).abs().mean().item()


def get_data(n, seed):
    x, _ = make_moons(n, noise=0.05, random_state=seed)
    x = (x - np.array([0.5, 0.25])) / np.array([0.87, 0.50])
    return torch.tensor(x, dtype=torch.float32)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=3000)
    p.add_argument("--batch-size", type=int, default=256)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    data = get_data(4000, 0)
    held = get_data(2000, 1)
    sched = Schedule()
    model = EpsNet(sched.steps)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    lrs = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.iters)

    running = 0.0
    for it in range(1, args.iters + 1):
        model.train()
        x0 = data[torch.randint(0, len(data), (args.batch_size,))]
        t = torch.randint(0, sched.steps, (args.batch_size,))
        noise = torch.randn_like(x0)
        pred = model(sched.q_sample(x0, t, noise), t)
        loss = ((pred - noise) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        lrs.step()
        running += loss.item()
        if it % 500 == 0:
            s = sample(model, sched, 2000)
            print(f"iter {it} loss {running/500:.4f} sliced W {sliced_w(s, held):.4f} std {s.std(0).tolist()}")
            running = 0.0


if __name__ == "__main__":
    main()
