# Monte-Carlo policy gradient on a hand-written cart-pole
import math
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

torch.set_num_threads(1)
torch.manual_seed(5)
np.random.seed(5)


class CartPole:
    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        thacc = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xacc = tmp - 0.05 * thacc * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xacc, th + 0.02 * thd, thd + 0.02 * thacc])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 12 * math.pi / 180
        return self.s.astype(np.float32), 1.0, fell or self.t >= 200


policy = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = optim.Adam(policy.parameters(), lr=5e-3)
env = CartPole()
gamma = 0.99
history = []

for episode in range(1, 301):
    obs, done = env.reset(), False
    log_probs, rewards = [], []
    while not done:
        dist = Categorical(logits=policy(torch.from_numpy(obs)))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        obs, r, done = env.step(action.item())
        rewards.append(r)

    returns, R = [], 0.0
    for r in reversed(rewards):
        R = r + gamma * R
        returns.append(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)

    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

    history.append(sum(rewards))
    if episode % 25 == 0:
        print(f"Episode {episode}\tlast length {history[-1]:.0f}\taverage(25) {np.mean(history[-25:]):.1f}")
print("mean of last 50 episodes:", np.mean(history[-50:]))
