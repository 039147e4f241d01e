"""REINFORCE with a learned baseline on a small cart-pole."""
import argparse
import math
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class CartPole:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.s, self.t = self.rng.uniform(-0.05, 0.05, 4), 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        acc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xacc = tmp - 0.05 * acc * c / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * xacc, th + 0.02 * w, w + 0.02 * acc])
        self.t += 1
        fail = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21
        return self.s.astype(np.float32), 1.0, fail or self.t >= 200


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
        self.v = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))


def discounted(rewards, gamma):
    out, run = [], 0.0
    for r in reversed(rewards):
        run = r + gamma * run
        out.append(run)
    return torch.tensor(out[::-1], dtype=torch.float32)


def rollout(env, net):
    s, done, obs, acts, rews = env.reset(), False, [], [], []
    while not done:
        with torch.no_grad():
            a = Categorical(logits=net.pi(torch.from_numpy(s))).sample().item()
        obs.append(s)
        acts.append(a)
        s, r, done = env.step(a)
        rews.append(r)
    return torch.from_numpy(np.stack(obs)), torch.tensor(acts), rews


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=130)
    ap.add_argument("--episodes-per-update", type=int, default=3)
    ap.add_argument("--gamma", type=float, default=0.98)
    ap.add_argument("--entropy", type=float, default=0.005)
    args = ap.parse_args()
    torch.manual_seed(1)
    env, net = CartPole(np.random.default_rng(1)), ActorCritic()
    opt = torch.optim.Adam([{"params": net.pi.parameters(), "lr": 1e-2}, {"params": net.v.parameters(), "lr": 1e-2}])
    history = []
    for u in range(1, args.updates + 1):
        eps = [rollout(env, net) for _ in range(args.episodes_per_update)]
        obs = torch.cat([e[0] for e in eps])
        acts = torch.cat([e[1] for e in eps])
        ret = torch.cat([discounted(e[2], args.gamma) for e in eps])
        value = net.v(obs).squeeze(1) * 50
        adv = ret - value.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        dist = Categorical(logits=net.pi(obs))
        policy_loss = -(dist.log_prob(acts) * adv).mean() - args.entropy * dist.entropy().mean()
        value_loss = ((value - ret) / 50).pow(2).mean()
        opt.zero_grad()
        (policy_loss + value_loss).backward()
        opt.step()
        history += [len(e[2]) for e in eps]
        if u % 13 == 0:
            print(f"update {u} policy {policy_loss.item():+.4f} value {value_loss.item():.4f} mean length {np.mean(history[-39:]):.1f}")


if __name__ == "__main__":
    main()
