"""REINFORCE on a small windy corridor (own environment, no gym)."""
import argparse

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical


class Corridor:
    """Walk from cell 0 to the last cell; going back is cheap now, a fall costs a lot later."""

    def __init__(self, length=10, max_steps=40, seed=0):
        self.length, self.max_steps = length, max_steps
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos, self.t = 0, 0
        return self._obs()

    def _obs(self):
        o = np.zeros(self.length, dtype=np.float32)
        o[self.pos] = 1
        return torch.from_numpy(o)

    def step(self, action):
        self.t += 1
        move = 1 if action == 1 else -1
        if self.rng.random() < 0.1:
            move = -1
        reward = -0.05 if action == 1 else 0.0
        self.pos = max(0, self.pos + move)
        done = False
        if self.pos >= self.length - 1:
            self.pos = self.length - 1
            reward, done = 2.0, True
        if self.t >= self.max_steps:
            done = True
        return self._obs(), reward, done


class Policy(nn.Module):
    def __init__(self, n_obs, n_act=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_obs, 32), nn.Tanh(), nn.Linear(32, n_act))

    def forward(self, obs):
        return Categorical(logits=self.net(obs))


def discounted(rewards, gamma):
    returns, g = [], 0.0
    for r in reversed(rewards):
        g = r + gamma * g
        returns.append(g)
    return torch.tensor(returns)


def run_episode(env, policy):
    obs, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        dist = policy(obs)
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        obs, r, done = env.step(a.item())
        rewards.append(r)
    return torch.stack(log_probs), rewards


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--updates", type=int, default=200)
    ap.add_argument("--episodes-per-update", type=int, default=4)
    ap.add_argument("--gamma", type=float, default=0.9)
    ap.add_argument("--lr", type=float, default=5e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    env = Corridor()
    policy = Policy(env.length)
    opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
    history = []
    for update in range(args.updates):
        lps, rets = [], []
        for _ in range(args.episodes_per_update):
            lp, rewards = run_episode(env, policy)
            lps.append(lp)
            rets.append(discounted(rewards, args.gamma))
            history.append((sum(rewards), len(rewards)))
        lp, ret = torch.cat(lps), torch.cat(rets)
        adv = (ret - ret.mean()) / (ret.std() + 1e-6)
        loss = -(lp * adv).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (update + 1) % 20 == 0:
            last = np.array(history[-80:])
            print(f"update {update + 1} mean return {last[:, 0].mean():.3f} mean length {last[:, 1].mean():.1f} loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
