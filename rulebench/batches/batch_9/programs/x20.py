import numpy as np
import torch
import torch.nn as nn
import gymnasium as gym

torch.manual_seed(1)
np.random.seed(1)
env = gym.make("CartPole-v1")
policy = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
gamma = 0.99

def discounted(rewards):
    out, R = [], 0.0
    for r in rewards:
        R = r + gamma * R
        out.append(R)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-8)

scores = []
for episode in range(250):
    obs, _ = env.reset(seed=episode)
    logps, rewards, done = [], [], False
    while not done and len(rewards) < 200:
        dist = torch.distributions.Categorical(logits=policy(torch.as_tensor(obs, dtype=torch.float32)))
        a = dist.sample()
        logps.append(dist.log_prob(a))
        obs, r, term, trunc, _ = env.step(a.item())
        rewards.append(r)
        done = term or trunc
    loss = -(torch.stack(logps) * discounted(rewards)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scores.append(sum(rewards))
    if episode % 25 == 24:
        print("episode", episode + 1, "mean reward of the last 25:", np.mean(scores[-25:]))
print("last 50 episodes", np.mean(scores[-50:]))
