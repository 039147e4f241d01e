#!/usr/bin/env python
# REINFORCE with a moving baseline on a windy grid walk.
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

SEED = 2
rng = np.random.RandomState(SEED)
torch.manual_seed(SEED)
N = 6
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class WindyGrid:
    """Start bottom-left, goal top-right; wind sometimes pushes down. -1/20 per step, +1 at goal."""

    def reset(self):
        self.p = [N - 1, 0]
        self.t = 0
        return self.obs()

    def obs(self):
        o = np.zeros(N * N, np.float32)
        o[self.p[0] * N + self.p[1]] = 1
        return o

    def step(self, a):
        dy, dx = MOVES[a]
        if rng.rand() < 0.15:
            dy += 1
        self.p[0] = min(max(self.p[0] + dy, 0), N - 1)
        self.p[1] = min(max(self.p[1] + dx, 0), N - 1)
        self.t += 1
        done = self.p == [0, N - 1]
        return self.obs(), (1.0 if done else -0.05), done, self.t >= 40


policy = nn.Sequential(nn.Linear(N * N, 64), nn.Tanh(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
env = WindyGrid()
baseline = 0.0
history = []

for ep in range(700):
    s = env.reset()
    logps, rewards, ents = [], [], []
    while True:
        dist = Categorical(logits=policy(torch.from_numpy(s)))
        a = dist.sample()
        s, r, done, timeout = env.step(a.item())
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        rewards.append(r)
        if done or timeout:
            break
    g, returns = 0.0, []
    for r in reversed(rewards):
        g = r + 0.98 * g
        returns.insert(0, g)
    returns = torch.tensor(returns)
    adv = returns - baseline
    baseline = 0.95 * baseline + 0.05 * returns.mean().item()
    loss = -(torch.stack(logps) * adv).sum() - 0.01 * torch.stack(ents).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(sum(rewards))
    if (ep + 1) % 100 == 0:
        print(f"ep {ep + 1:4d}  loss {loss.item():8.3f}  return(100) {np.mean(history[-100:]):.3f}")

print("mean return, first 50 episodes: %.3f" % np.mean(history[:50]))
print("mean return, last 50 episodes: %.3f" % np.mean(history[-50:]))
