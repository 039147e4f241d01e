"""REINFORCE on a small windy grid world."""
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

SEED = 23
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

SIZE, GOAL, HORIZON, ENVS, GAMMA = 6, (5, 4), 30, 16, 0.97
MOVES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])


class Grid:
    """ENVS copies side by side; wind blows the agent to the left one time in ten"""

    def reset(self):
        self.pos = rng.integers(0, 3, (ENVS, 2))
        self.done = np.zeros(ENVS, bool)
        return self.obs()

    def obs(self):
        o = np.zeros((ENVS, 2 * SIZE), np.float32)
        o[np.arange(ENVS), self.pos[:, 0]] = 1
        o[np.arange(ENVS), SIZE + self.pos[:, 1]] = 1
        return torch.from_numpy(o)

    def step(self, a):
        wind = (rng.random(ENVS) < 0.1)[:, None] * np.array([0, -1])
        new = np.clip(self.pos + MOVES[a] + wind, 0, SIZE - 1)
        self.pos = np.where(self.done[:, None], self.pos, new)
        reach = (self.pos == GOAL).all(1) & ~self.done
        rew = np.where(self.done, 0.0, np.where(reach, 1.0, -0.02))
        self.done |= reach
        return self.obs(), rew


policy = nn.Sequential(nn.Linear(2 * SIZE, 48), nn.Tanh(), nn.Linear(48, 4))
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
env, history = Grid(), []

for update in range(400):
    obs = env.reset()
    logps, ents, rews, alive = [], [], [], []
    for t in range(HORIZON):
        dist = Categorical(logits=policy(obs))
        a = dist.sample()
        alive.append(torch.from_numpy(~env.done).float())
        logps.append(dist.log_prob(a))
        ents.append(dist.entropy())
        obs, r = env.step(a.numpy())
        rews.append(torch.from_numpy(r).float())
    G = torch.zeros(ENVS)
    returns = []
    for r in reversed(rews):
        G = r + GAMMA * G
        returns.insert(0, G)
    R, M = torch.stack(returns), torch.stack(alive)
    base = (R * M).sum() / M.sum()
    adv = (R - base) * M
    loss = -(torch.stack(logps) * adv).sum() / M.sum() - 0.01 * (torch.stack(ents) * M).sum() / M.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(torch.stack(rews).sum(0).mean().item())
    if update % 40 == 0:
        print(f"update {update} loss {loss.item():+.4f} return {np.mean(history[-20:]):+.3f} reached {env.done.mean():.2f}")
print("mean return of the last 50 updates: %.3f (first 10: %.3f)" % (np.mean(history[-50:]), np.mean(history[:10])))
