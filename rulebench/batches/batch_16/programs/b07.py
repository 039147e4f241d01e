"""REINFORCE with a learned baseline on a small balancing task."""
import argparse
import math
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


class Pole:
    """Vectorised cart-pole: n independent copies, episode ends on fall."""

    def __init__(self, n, rng):
        self.n, self.rng = n, rng

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, size=(self.n, 4))
        return self.s.astype(np.float32)

    def step(self, a):
        x, xd, th, thd = self.s.T
        f = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        thacc = (9.8 * s - c * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * c ** 2 / 1.1))
        xacc = tmp - 0.05 * thacc * c / 1.1
        tau = 0.02
        self.s = np.stack([x + tau * xd, xd + tau * xacc, th + tau * thd, thd + tau * thacc], 1)
        done = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 12 * math.pi / 180)
        return self.s.astype(np.float32), done


class Policy(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, 2)
        self.v = nn.Linear(hidden, 1)

    def forward(self, s):
        h = self.body(s)
        return self.pi(h), self.v(h).squeeze(-1)


def rollout(env, policy, horizon):
    s = env.reset()
    alive = np.ones(env.n, dtype=bool)
    S, A, R, M = [], [], [], []
    for _ in range(horizon):
        st = torch.from_numpy(s)
        with torch.no_grad():
            a = Categorical(logits=policy(st)[0]).sample()
        S.append(st)
        A.append(a)
        M.append(torch.from_numpy(alive.copy()))
        s, done = env.step(a.numpy())
        R.append(torch.from_numpy(alive.astype(np.float32)))
        alive = alive & ~done
        s = np.where(alive[:, None], s, 0.0).astype(np.float32)
        env.s = np.where(alive[:, None], env.s, 0.0)
        if not alive.any():
            break
    return torch.stack(S), torch.stack(A), torch.stack(R), torch.stack(M)


def discounted_returns(rewards, gamma):
    G = torch.zeros(rewards.shape[1])
    out = []
    for r in rewards:
        G = r + gamma * G
        out.append(G)
    return torch.stack(out)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=100)
    p.add_argument("--envs", type=int, default=16)
    p.add_argument("--gamma", type=float, default=0.98)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--horizon", type=int, default=200)
    p.add_argument("--seed", type=int, default=0)
    a = p.parse_args()
    torch.manual_seed(a.seed)
    env = Pole(a.envs, np.random.default_rng(a.seed))
    policy = Policy()
    opt = torch.optim.Adam(policy.parameters(), lr=a.lr)
    history = []
    for it in range(a.iters):
        S, A, R, M = rollout(env, policy, a.horizon)
        G = discounted_returns(R, a.gamma)
        logits, v = policy(S)
        logp = Categorical(logits=logits).log_prob(A)
        m = M.float()
        adv = G - v.detach()
        mean = (adv * m).sum() / m.sum()
        std = (((adv - mean) ** 2 * m).sum() / m.sum()).sqrt()
        adv = (adv - mean) / (std + 1e-8)
        pg = -(logp * adv * m).sum() / m.sum()
        vf = (((v - G) / 50) ** 2 * m).sum() / m.sum()
        loss = pg + vf
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        opt.step()
        length = R.sum(0).mean().item()
        history.append(length)
        if (it + 1) % 10 == 0:
            print(f"iter {it + 1:3d} mean length {np.mean(history[-10:]):.1f} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
