"""Q-learning with a replay buffer on a small point-navigation task."""
import random
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    seed: int = 7
    steps: int = 4000
    batch_size: int = 64
    gamma: float = 0.95
    lr: float = 1e-3
    buffer: int = 10000
    start_learning: int = 500
    sync_every: int = 200
    max_len: int = 40


class PointWorld:
    """Agent and goal live in the unit square; four moves of fixed length."""

    MOVES = np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.1], [0.0, -0.1]], dtype=np.float32)

    def __init__(self, rng, max_len):
        self.rng = rng
        self.max_len = max_len
        self.state = np.zeros(4, dtype=np.float32)

    def reset(self):
        self.state = self.rng.random(4).astype(np.float32)
        self.t = 0
        return self.state

    def step(self, action):
        self.t += 1
        self.state[:2] += self.MOVES[action]
        np.clip(self.state, 0.0, 1.0, out=self.state)
        dist = np.linalg.norm(self.state[:2] - self.state[2:])
        terminated = bool(dist < 0.1)
        reward = 1.0 if terminated else -0.02
        return self.state, reward, terminated, self.t >= self.max_len


def make_net():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


def sample(buffer, n):
    batch = random.sample(buffer, n)
    s, a, r, s2, d = zip(*batch)
    return (torch.from_numpy(np.stack(s)), torch.tensor(a), torch.tensor(r, dtype=torch.float32),
            torch.from_numpy(np.stack(s2)), torch.tensor(d, dtype=torch.float32))


def evaluate(net, cfg, episodes=100):
    env = PointWorld(np.random.default_rng(123), cfg.max_len)
    success = 0
    for _ in range(episodes):
        obs = env.reset()
        while True:
            with torch.no_grad():
                action = net(torch.from_numpy(obs)).argmax().item()
            obs, _, terminated, truncated = env.step(action)
            if terminated or truncated:
                success += terminated
                break
    return success / episodes


def train(cfg):
    random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    env = PointWorld(rng, cfg.max_len)
    q, target = make_net(), make_net()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=cfg.lr)
    buffer = deque(maxlen=cfg.buffer)

    obs = env.reset()
    losses = []
    for step in range(1, cfg.steps + 1):
        eps = max(0.1, 1.0 - step / 1500)
        if rng.random() < eps:
            action = int(rng.integers(4))
        else:
            with torch.no_grad():
                action = q(torch.from_numpy(obs)).argmax().item()
        next_obs, reward, terminated, truncated = env.step(action)
        buffer.append((obs, action, reward, next_obs, terminated))
        obs = env.reset() if terminated or truncated else next_obs

        if step < cfg.start_learning:
            continue
        s, a, r, s2, d = sample(buffer, cfg.batch_size)
        with torch.no_grad():
            best = q(s2).argmax(1, keepdim=True)
            y = r + cfg.gamma * (1 - d) * target(s2).gather(1, best).squeeze(1)
        pred = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        loss = F.smooth_l1_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % cfg.sync_every == 0:
            target.load_state_dict(q.state_dict())
        if step % 500 == 0:
            print(f"step {step} eps {eps:.2f} td-loss {np.mean(losses[-500:]):.4f}")
    return q


if __name__ == "__main__":
    torch.set_num_threads(1)
    cfg = Config()
    net = train(cfg)
    print("success rate of the greedy policy:", evaluate(net, cfg))
