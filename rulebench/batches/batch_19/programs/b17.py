import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
rng = np.random.default_rng(2)


class InventoryEnv:
    """Many shops in parallel: choose how many crates to order, demand depends on the weekday."""
    demand = np.array([1, 1, 2, 2, 3, 5, 4])

    def __init__(self, n):
        self.n = n
        self.stock = rng.integers(0, 6, n)
        self.day = rng.integers(0, 7, n)

    def obs(self):
        x = np.zeros((self.n, 8), dtype=np.float32)
        x[np.arange(self.n), self.day] = 1
        x[:, 7] = self.stock / 5.0
        return torch.from_numpy(x)

    def step(self, order):
        available = np.minimum(self.stock + order, 10)
        need = np.maximum(self.demand[self.day] + rng.integers(-1, 2, self.n), 0)
        sold = np.minimum(available, need)
        self.stock = available - sold
        reward = 1.0 * sold - 0.4 * order - 0.15 * self.stock
        self.day = (self.day + 1) % 7
        return torch.tensor(reward, dtype=torch.float32)


actor = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 7))
critic = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 1))
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=1e-2)

env = InventoryEnv(32)
gamma, n_steps, entropy_coef = 0.9, 8, 0.01
history = []

for update in range(500):
    logps, values, rewards, entropies = [], [], [], []
    for _ in range(n_steps):
        obs = env.obs()
        dist = torch.distributions.Categorical(logits=actor(obs))
        action = dist.sample()
        reward = env.step(action.numpy())
        logps.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(critic(obs).squeeze(-1))
        rewards.append(reward)
    with torch.no_grad():
        R = critic(env.obs()).squeeze(-1)
    returns = []
    for r in reversed(rewards):
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.stack(returns)
    values = torch.stack(values)
    logps = torch.stack(logps)
    entropy = torch.stack(entropies).mean()

    advantage = (returns - values).detach()
    actor_loss = -(logps * advantage).mean() - entropy_coef * entropy
    critic_loss = F.mse_loss(values, returns)

    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    critic_opt.zero_grad()
    critic_loss.backward()
    nn.utils.clip_grad_norm_(critic.parameters(), 5.0)
    critic_opt.step()

    history.append(torch.stack(rewards).mean().item())
    if (update + 1) % 50 == 0:
        print(f"update {update + 1}: reward {np.mean(history[-50:]):.3f}  actor {actor_loss.item():+.3f}  "
              f"critic {critic_loss.item():.3f}  entropy {entropy.item():.3f}")

print("average reward per day: first 20 updates %.3f, last 50 updates %.3f"
      % (np.mean(history[:20]), np.mean(history[-50:])))
