"""REINFORCE with a learned baseline on a hand-written cart-pole."""
import argparse
import math
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class CartPole:
    def __init__(self, rng, limit=200):
        self.rng, self.limit = rng, limit

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return self.s.astype(np.float32), 1.0, fell or self.t >= self.limit


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 2))
        self.v = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))


def rollout(env, agent):
    s, done, states, acts, rews = env.reset(), False, [], [], []
    while not done:
        with torch.no_grad():
            a = Categorical(logits=agent.pi(torch.from_numpy(s))).sample().item()
        states.append(s); acts.append(a)
        s, r, done = env.step(a)
        rews.append(r)
    return states, acts, rews


def returns(rews, gamma):
    out, g = [], 0.0
    for r in reversed(rews):
        g = r + gamma * g
        out.append(g)
    return out[::-1]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=80)
    ap.add_argument("--episodes", type=int, default=6)
    ap.add_argument("--gamma", type=float, default=0.98)
    args = ap.parse_args()
    torch.manual_seed(0)
    env, agent = CartPole(np.random.default_rng(0)), Agent()
    opt = torch.optim.Adam([{"params": agent.pi.parameters(), "lr": 1e-2},
                            {"params": agent.v.parameters(), "lr": 2e-2}])
    for it in range(1, args.updates + 1):
        S, A, G, lens = [], [], [], []
        for _ in range(args.episodes):
            s, a, r = rollout(env, agent)
            S += s; A += a; G += returns(r, args.gamma); lens.append(len(r))
        S, A = torch.tensor(np.array(S)), torch.tensor(A)
        G = torch.tensor(G, dtype=torch.float32) / 50
        v = agent.v(S).squeeze(1)
        adv = G - v.detach()
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)
        dist = Categorical(logits=agent.pi(S))
        pg = -(dist.log_prob(A) * adv).mean() - 0.005 * dist.entropy().mean()
        loss = pg + (v - G).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
        opt.step()
        if it % 10 == 0:
            print(f"update {it} mean episode length {np.mean(lens):.1f} policy loss {pg.item():.4f}")


if __name__ == "__main__":
    main()
