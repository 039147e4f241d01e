"""RealNVP density model for scaled-down two moons."""
import argparse
import math
import torch
from torch import nn
from sklearn.datasets import make_moons


class Coupling(nn.Module):
    def __init__(self, flip, hidden=48):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = 2 * torch.tanh(s)
        b = b * s.exp() + t
        out = torch.cat([b, a], 1) if self.flip else torch.cat([a, b], 1)
        return out, s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(2))
        self.shift = nn.Parameter(torch.zeros(2))
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(layers))

    def log_prob(self, x):
        z = (x - self.shift) * self.log_scale.exp()
        logdet = self.log_scale.sum()
        for layer in self.layers:
            z, ld = layer(z)
            logdet = logdet + ld
        return -0.5 * (z ** 2).sum(1) - math.log(2 * math.pi) + logdet


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=900)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--layers", type=int, default=6)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    data = torch.tensor(make_moons(6000, noise=0.06, random_state=0)[0], dtype=torch.float32) * 0.2
    train, test = data[:5000], data[5000:]
    flow = Flow(args.layers)
    opt = torch.optim.Adam(flow.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps)
    for step in range(1, args.steps + 1):
        x = train[torch.randint(0, len(train), (args.batch,))]
        loss = -flow.log_prob(x).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        sched.step()
        if step % 150 == 0:
            with torch.no_grad():
                print(f"step {step} train nll {loss.item():.3f} test nll {-flow.log_prob(test).mean().item():.3f}")


if __name__ == "__main__":
    main()
