"""RealNVP on two moons. Trained by maximum likelihood, the printed value is nats per point."""
import torch
import torch.nn as nn
from sklearn.datasets import make_moons

torch.manual_seed(0)


class Coupling(nn.Module):
    def __init__(self, swap, hidden=48):
        super().__init__()
        self.swap = swap
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x[:, :1], x[:, 1:]
        if self.swap:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s) * 2
        b = b * s.exp() + t
        out = torch.cat([b, a], 1) if self.swap else torch.cat([a, b], 1)
        return out, s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(i % 2 == 1) for i in range(n)])
        self.base = torch.distributions.Normal(0.0, 1.0)

    def log_prob(self, x):
        ld = 0
        for l in self.layers:
            x, d = l(x)
            ld = ld + d
        return self.base.log_prob(x).sum(1) + ld


def data(n, seed):
    x, _ = make_moons(n, noise=0.04, random_state=seed)
    return torch.tensor((x - [0.5, 0.25]) * 0.5, dtype=torch.float32)


train, test = data(3000, 0), data(1000, 1)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 1200)
for it in range(1200):
    xb = train[torch.randint(0, len(train), (256,))]
    loss = -flow.log_prob(xb).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
    opt.step()
    sched.step()
    if (it + 1) % 200 == 0:
        with torch.no_grad():
            print(f"it {it + 1} train nll {loss.item():.4f} test nll {-flow.log_prob(test).mean().item():.4f}")
