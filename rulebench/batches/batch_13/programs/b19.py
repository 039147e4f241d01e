"""Minimal DDPM on two moons."""
import argparse
import math
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_moons


class Schedule:
    def __init__(self, T):
        self.T = T
        self.betas = torch.linspace(1e-4, 0.12, T)
        self.alphas = 1.0 - self.betas
        self.alpha_bar = torch.cumprod(self.alphas, dim=0)

    def q_sample(self, x0, t, noise):
        a = self.alphas[t].unsqueeze(1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, n):
        x = torch.randn(n, 2)
        for t in reversed(range(self.T)):
            tt = torch.full((n,), t)
            eps = model(x, tt)
            a, ab = self.alphas[t], self.alpha_bar[t]
            x = (x - (1 - a) / (1 - ab).sqrt() * eps) / a.sqrt()
            if t > 0:
                x = x + self.betas[t].sqrt() * torch.randn_like(x)
        return x


class Denoiser(nn.Module):
    def __init__(self, hidden=96, emb=16):
        super().__init__()
        self.emb = emb
        self.net = nn.Sequential(
            nn.Linear(2 + emb, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 2))

    def time_embedding(self, t):
        half = self.emb // 2
        freqs = torch.exp(-math.log(1000.0) * torch.arange(half) / half)
        ang = t.float().unsqueeze(1) * freqs
        return torch.cat([ang.sin(), ang.cos()], dim=1)

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time_embedding(t)], dim=1))


def mmd(x, y, s=0.5):
    def k(a, b):
        return torch.exp(-torch.cdist(a, b) ** 2 / (2 * s * s)).mean()
    return (k(x, x) + k(y, y) - 2 * k(x, y)).item()


def load_data(n):
    x, _ = make_moons(n, noise=0.05, random_state=0)
    x = (x - x.mean(0)) / x.std(0)
    return torch.tensor(x, dtype=torch.float32)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--T", type=int, default=100)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    data = load_data(4000)
    sched, model = Schedule(args.T), Denoiser()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    run = 0.0
    for step in range(1, args.steps + 1):
        x0 = data[torch.randint(len(data), (args.batch,))]
        t = torch.randint(args.T, (args.batch,))
        noise = torch.randn_like(x0)
        loss = ((model(sched.q_sample(x0, t, noise), t) - noise) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item()
        if step % 500 == 0:
            s = sched.sample(model, 1000)
            print(f"step {step} loss {run / 500:.4f} mmd {mmd(s, data[:1000]):.4f} sample std {s.std(0).tolist()}")
            run = 0.0


if __name__ == "__main__":
    main()
