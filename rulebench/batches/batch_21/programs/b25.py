"""REINFORCE on CartPole-v1 with a learned baseline-free policy."""
import argparse
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser(description="policy gradient")
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--episodes", type=int, default=150)
parser.add_argument("--max-steps", type=int, default=150)
parser.add_argument("--seed", type=int, default=3)
args = parser.parse_args()

torch.manual_seed(args.seed)
np.random.seed(args.seed)
env = gym.make("CartPole-v1")


class Policy(nn.Module):
    def __init__(self, obs_dim=4, n_actions=2, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs_dim, hidden),
            nn.ReLU(),
            nn.Linear(hidden, n_actions),
        )

    def forward(self, obs):
        return Categorical(logits=self.net(obs))


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)


def run_episode(seed=None):
    log_probs, rewards = [], []
    obs, _ = env.reset(seed=seed)
    for _ in range(args.max_steps):
        dist = policy(torch.as_tensor(obs, dtype=torch.float32))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        obs, reward, terminated, truncated, _ = env.step(action.item())
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return log_probs, rewards


def discounted_returns(rewards, gamma):
    returns = []
    running = 0.0
    for r in rewards:
        running = r + gamma * running
        returns.append(running)
    returns = torch.tensor(returns)
    return (returns - returns.mean()) / (returns.std() + 1e-8)


recent = deque(maxlen=30)
for episode in range(1, args.episodes + 1):
    log_probs, rewards = run_episode(seed=args.seed * 1000 + episode)
    returns = discounted_returns(rewards, args.gamma)

    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    recent.append(sum(rewards))
    if episode % 25 == 0:
        print(f"episode {episode:4d}  loss {loss.item():8.3f}  mean length {np.mean(recent):6.1f}")

print(f"final mean episode length over the last {len(recent)} episodes: {np.mean(recent):.1f}")
