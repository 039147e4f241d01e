import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(0); np.random.seed(0)
env = gym.make("CartPole-v1")
policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
gamma = 0.98
history = []

for episode in range(350):
    state, _ = env.reset(seed=episode)
    log_probs, rewards = [], []
    done = False
    while not done:
        dist = Categorical(logits=policy(torch.from_numpy(state).float()))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        state, r, terminated, truncated, _ = env.step(action.item())
        rewards.append(r)
        done = terminated or truncated or len(rewards) >= 300

    returns, G = [], 0.0
    for r in rewards:
        G = r + gamma * G
        returns.append(G)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)

    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history.append(sum(rewards))
    if (episode + 1) % 25 == 0:
        print(f"episode {episode+1} avg reward (last 25) {np.mean(history[-25:]):.1f} loss {loss.item():.3f}")
