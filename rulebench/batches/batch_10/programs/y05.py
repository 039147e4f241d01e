import numpy as np
import torch
import torch.nn as nn
import gymnasium as gym
from torch.distributions import Categorical

torch.manual_seed(0)
env = gym.make("CartPole-v1", max_episode_steps=200)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
GAMMA = 0.99


def discounted(rewards):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        out.insert(0, g)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-8)


history = []
for episode in range(250):
    obs, _ = env.reset(seed=episode)
    logps, rewards = [], []
    done = False
    while not done:
        dist = Categorical(logits=policy(torch.as_tensor(obs, dtype=torch.float32)))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        obs, r, term, trunc, _ = env.step(a.item())
        rewards.append(float(r))
        done = term or trunc
    ret = discounted(rewards)
    loss = (torch.stack(logps) * ret).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(sum(rewards))
    if episode % 25 == 24:
        print(f"episode {episode + 1} mean reward (last 25): {np.mean(history[-25:]):.1f}")
