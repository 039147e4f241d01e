import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

SEED = 11
torch.manual_seed(SEED)
np.random.seed(SEED)
env = gym.make("CartPole-v1", max_episode_steps=200)
GAMMA = 0.99


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(4, 64)
        self.l2 = nn.Linear(64, 2)

    def forward(self, s):
        return Categorical(logits=self.l2(torch.tanh(self.l1(s))))


pi = Policy()
optim = torch.optim.Adam(pi.parameters(), lr=5e-3)
history = []
for episode in range(260):
    obs, _ = env.reset(seed=SEED + episode)
    log_probs, rewards, done = [], [], False
    while not done:
        dist = pi(torch.as_tensor(obs, dtype=torch.float32))
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        obs, r, term, trunc, _ = env.step(a.item())
        rewards.append(r)
        done = term or trunc
    G, returns = 0.0, []
    for r in reversed(rewards):
        G = r + GAMMA * G
        returns.insert(0, G)
    returns = torch.tensor(returns)
    adv = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = -(torch.stack(log_probs) * adv).sum()
    optim.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(pi.parameters(), 5.0)
    optim.step()
    history.append(sum(rewards))
    if (episode + 1) % 20 == 0:
        print(f"episode {episode+1} loss {loss.item():8.2f} last {history[-1]:.0f} mean20 {np.mean(history[-20:]):.1f}")
print("mean return of the last 50 episodes:", np.mean(history[-50:]))
