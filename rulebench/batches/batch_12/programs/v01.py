import argparse
import math
import numpy as np
import torch
from torch import nn

# RealNVP on two moons


class Coupling(nn.Module):
    def __init__(self, flip, h=48):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def parts(self, x):
        return (x[:, 1:], x[:, :1]) if self.flip else (x[:, :1], x[:, 1:])

    def join(self, a, b):
        return torch.cat([b, a], 1) if self.flip else torch.cat([a, b], 1)

    def forward(self, x):
        a, b = self.parts(x)
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s) * 2
        return self.join(a, b * s.exp() + t), s.sum(1)

    def inverse(self, z):
        a, b = self.parts(z)
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s) * 2
        return self.join(a, (b - t) * (-s).exp())


class Flow(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(n))

    def log_prob(self, x):
        ld = torch.zeros(len(x))
        for l in self.layers:
            x, d = l(x)
            ld = ld + d
        return -0.5 * (x ** 2).sum(1) - math.log(2 * math.pi) + ld

    def sample(self, n):
        z = torch.randn(n, 2)
        for l in reversed(self.layers):
            z = l.inverse(z)
        return z


def main():
    from sklearn.datasets import make_moons
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=1500)
    ap.add_argument("--layers", type=int, default=6)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, _ = make_moons(4000, noise=0.05, random_state=0)
    x = torch.tensor(x).float()
    x = x * 0.5
    tr, te = x[:3000], x[3000:]
    flow = Flow(args.layers)
    opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
    for it in range(args.iters):
        b = tr[torch.randint(3000, (256,))]
        loss = -flow.log_prob(b).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        if it % 150 == 0:
            with torch.no_grad():
                print(it, f"train nll {loss.item():.3f} test nll {-flow.log_prob(te).mean().item():.3f}")
    with torch.no_grad():
        s = flow.sample(1000)
    d = torch.cdist(s, te).min(1).values
    print("median distance of samples to data", d.median().item())


if __name__ == "__main__":
    main()
