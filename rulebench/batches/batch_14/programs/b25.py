# REINFORCE on CartPole
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

env = gym.make("CartPole-v1")
torch.manual_seed(1)
np.random.seed(1)

policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
gamma = 0.99
history = []

for episode in range(250):
    state, _ = env.reset(seed=episode)
    log_probs, rewards = [], []
    done = False
    while not done and len(rewards) < 300:
        dist = Categorical(logits=policy(torch.as_tensor(state, dtype=torch.float32)))
        action = dist.sample()
        state, reward, terminated, truncated, _ = env.step(action.item())
        done = terminated or truncated
        log_probs.append(dist.log_prob(action))
        rewards.append(reward)

    returns = []
    G = 0.0
    for r in reversed(rewards):
        G = r + gamma * G
        returns.append(G)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)

    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history.append(len(rewards))
    if episode % 25 == 24:
        print("episode", episode + 1, "mean length", np.mean(history[-25:]))
