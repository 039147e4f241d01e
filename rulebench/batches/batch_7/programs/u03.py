"""REINFORCE on CartPole."""
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0)
np.random.seed(0)
env = gym.make("CartPole-v1", max_episode_steps=300)
policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
GAMMA = 0.99


def run_episode(seed):
    s, _ = env.reset(seed=seed)
    logps, rewards = [], []
    while True:
        dist = Categorical(logits=policy(torch.as_tensor(s, dtype=torch.float32)))
        a = dist.sample()
        s, r, term, trunc, _ = env.step(a.item())
        logps.append(dist.log_prob(a))
        rewards.append(r)
        if term or trunc:
            return torch.stack(logps), rewards


history = []
for ep in range(300):
    logps, rewards = run_episode(ep)
    G, returns = 0.0, []
    for r in reversed(rewards):
        G = r + GAMMA * G
        returns.insert(0, G)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = (logps * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(sum(rewards))
    if (ep + 1) % 25 == 0:
        print(f"episode {ep + 1}  mean return of last 25: {np.mean(history[-25:]):.1f}")
print("final average:", np.mean(history[-50:]))
