"""Synchronous advantage actor-critic on a vectorised toy trading-inventory problem."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class InventoryEnv:
    """N parallel shops. Demand follows a weekly pattern; order 0..4 units each day."""

    def __init__(self, n, horizon=28):
        self.n, self.horizon = n, horizon
        self.pattern = torch.tensor([1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 0.5])

    def reset(self):
        self.stock = torch.full((self.n,), 3.0)
        self.day = torch.randint(0, 7, (self.n,))
        self.t = 0
        return self.obs()

    def obs(self):
        return torch.cat([F.one_hot(self.day, 7).float(), self.stock.unsqueeze(1) / 5.0], dim=1)

    def step(self, order):
        stock = (self.stock + order.float()).clamp(max=12)
        demand = torch.poisson(self.pattern[self.day])
        sold = torch.minimum(stock, demand)
        self.stock = stock - sold
        reward = 2.0 * sold - 1.0 * order.float() - 0.25 * self.stock - 0.5 * (demand - sold)
        self.day = (self.day + 1) % 7
        self.t += 1
        return self.obs(), reward, self.t >= self.horizon


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi = nn.Linear(64, 5)
        self.v = nn.Linear(64, 1)

    def forward(self, obs):
        h = self.body(obs)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


env = InventoryEnv(n=32)
net = ActorCritic()
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3, alpha=0.99)
gamma, n_steps, ent_coef, vf_coef = 0.95, 7, 0.02, 0.25

obs = env.reset()
episode_return = torch.zeros(env.n)
history = []
for update in range(1, 1001):
    logps, values, rewards, entropies = [], [], [], []
    for _ in range(n_steps):
        pi, v = net(obs)
        action = pi.sample()
        obs, reward, done = env.step(action)
        logps.append(pi.log_prob(action))
        values.append(v)
        rewards.append(reward / 4.0)
        entropies.append(pi.entropy())
        episode_return += reward

    with torch.no_grad():
        running = net(obs)[1]
    returns = []
    for r in reversed(rewards):
        running = r + gamma * running
        returns.insert(0, running)
    returns = torch.stack(returns)
    values = torch.stack(values)
    advantage = (returns - values).detach()

    policy_loss = -(torch.stack(logps) * advantage).mean()
    value_loss = F.mse_loss(values, returns)
    entropy = torch.stack(entropies).mean()
    loss = policy_loss + vf_coef * value_loss - ent_coef * entropy
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    optimizer.step()

    if done:
        history.append(episode_return.mean().item())
        episode_return.zero_()
        obs = env.reset()
    if update % 200 == 0:
        print(f"update {update:4d} loss {loss.item():+.4f} policy {policy_loss.item():+.4f} value {value_loss.item():.4f} "
              f"entropy {entropy.item():.3f} return {sum(history[-10:]) / 10:.2f}")

print(f"first 5 episodes {sum(history[:5]) / 5:.2f}, last 20 episodes {sum(history[-20:]) / 20:.2f}")
