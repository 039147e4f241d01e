import argparse
import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

# continuous control bandit: gaussian policy, maximise the return with an entropy bonus


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, s):
        return Normal(self.mu(s), self.log_std.exp())


def reward(s, a):
    best = torch.sin(s[:, :1]) + 0.5 * s[:, 1:2] - 0.3 * s[:, 2:] ** 2
    return -(a - best) ** 2


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=1500)
    ap.add_argument("--ent", type=float, default=0.002)
    args = ap.parse_args()
    torch.manual_seed(0)
    pi = Policy()
    v = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam([{"params": pi.parameters(), "lr": 3e-3}, {"params": v.parameters(), "lr": 1e-2}])
    for it in range(args.iters):
        s = torch.randn(256, 3)
        d = pi(s)
        a = d.sample()
        r = reward(s, a)
        val = v(s)
        adv = (r - val).detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        loss_pi = -(d.log_prob(a) * adv).mean() - args.ent * d.entropy().mean()
        loss = loss_pi + 0.5 * ((val - r) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 150 == 0:
            print(it, "loss %.3f reward %.3f std %.3f" % (loss.item(), r.mean().item(), pi.log_std.exp().item()))
    s = torch.randn(5000, 3)
    with torch.no_grad():
        print("greedy reward", reward(s, pi.mu(s)).mean().item())


if __name__ == "__main__":
    main()
