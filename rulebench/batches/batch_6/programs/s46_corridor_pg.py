"""Vanilla policy gradient on a little corridor with a pit."""
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)


class Corridor:
    n = 8

    def reset(self):
        self.p, self.t = 3, 0
        return self.obs()

    def obs(self):
        o = np.zeros(self.n, np.float32)
        o[self.p] = 1
        return o

    def step(self, a):
        if np.random.rand() < 0.1:
            a = 1 - a
        self.p += 1 if a == 1 else -1
        self.t += 1
        if self.p <= 0:
            self.p = 0
            return self.obs(), -1.0, True
        if self.p >= self.n - 1:
            return self.obs(), 1.0, True
        return self.obs(), -0.02, self.t >= 40


env = Corridor()
policy = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
gamma = 0.99
returns_hist = []
for episode in range(600):
    logps, rewards = [], []
    s, done = env.reset(), False
    while not done:
        dist = Categorical(logits=policy(torch.from_numpy(s)))
        a = dist.sample()
        s, r, done = env.step(a.item())
        logps.append(dist.log_prob(a))
        rewards.append(r)
    G, gs = 0.0, []
    for r in reversed(rewards):
        G = r + gamma * G
        gs.insert(0, G)
    gs = torch.tensor(gs)
    baseline = np.mean(returns_hist[-50:]) if returns_hist else 0.0
    loss = (torch.stack(logps) * (gs - baseline)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    returns_hist.append(sum(rewards))
    if (episode + 1) % 50 == 0:
        print(f"episode {episode + 1} mean return (last 50): {np.mean(returns_hist[-50:]):.3f}")
