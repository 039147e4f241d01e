"""RealNVP on two moons."""
import math
import torch
import torch.nn as nn
from sklearn.datasets import make_moons
from torch.utils.data import DataLoader

CONFIG = {"layers": 6, "hidden": 48, "batch_size": 128, "epochs": 40, "lr": 2e-3, "n_train": 3000}


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def params(self, a):
        s, t = self.net(a).chunk(2, 1)
        return torch.tanh(s) * 1.5, t

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.params(a)
        b = (b - t) * torch.exp(-s)
        out = torch.cat([b, a] if self.flip else [a, b], 1)
        return out, s.sum(1)

    def inverse(self, z):
        a, b = z.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.params(a)
        b = b * torch.exp(s) + t
        return torch.cat([b, a] if self.flip else [a, b], 1)


class Flow(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, CONFIG["hidden"], i % 2 == 1) for i in range(CONFIG["layers"]))

    def log_prob(self, x):
        logdet = torch.zeros(len(x))
        for l in self.layers:
            x, ld = l(x)
            logdet = logdet + ld
        base = -0.5 * (x ** 2).sum(1) - math.log(2 * math.pi)
        return base + logdet

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for l in reversed(self.layers):
            z = l.inverse(z)
        return z


def data(n, seed):
    x, _ = make_moons(n, noise=0.07, random_state=seed)
    return torch.tensor((x - [0.5, 0.25]) / [0.87, 0.5], dtype=torch.float32)


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main():
    torch.manual_seed(0)
    train, test = data(CONFIG["n_train"], 0), data(800, 1)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=CONFIG["lr"], weight_decay=1e-5)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, CONFIG["epochs"])
    for ep in range(CONFIG["epochs"]):
        tot, nb = 0.0, 0
        for x in DataLoader(train, CONFIG["batch_size"], shuffle=True, drop_last=True):
            loss = -flow.log_prob(x).mean()
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(flow.parameters(), 2.0)
            opt.step()
            tot, nb = tot + loss.item(), nb + 1
        sched.step()
        if ep % 8 == 7:
            with torch.no_grad():
                nll = -flow.log_prob(test).mean().item()
            print(f"epoch {ep + 1} nll {tot / nb:.3f} test {nll:.3f} energy distance {energy_distance(flow.sample(800), test):.4f}")


if __name__ == "__main__":
    main()
