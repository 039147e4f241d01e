# Advantage actor-critic on a batch of corridor worlds (own vectorised environment)
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 9
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)


class VecTarget:
    """N agents on a line of length 15; the goal cell changes per episode; actions left / stay / right."""

    def __init__(self, n, length=15, horizon=25):
        self.n, self.length, self.horizon = n, length, horizon
        self.pos = rng.integers(0, length, n)
        self.goal = rng.integers(0, length, n)
        self.t = rng.integers(0, horizon, n)

    def obs(self):
        return torch.tensor(np.stack([self.pos / self.length, self.goal / self.length, self.t / self.horizon], 1), dtype=torch.float32)

    def step(self, a):
        self.pos = np.clip(self.pos + a - 1, 0, self.length - 1)
        self.t += 1
        reward = (self.pos == self.goal).astype(np.float32) - 0.01
        done = self.t >= self.horizon
        k = int(done.sum())
        self.pos[done] = rng.integers(0, self.length, k)
        self.goal[done] = rng.integers(0, self.length, k)
        self.t[done] = 0
        return self.obs(), torch.tensor(reward), torch.tensor(done.astype(np.float32))


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
        self.critic = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


N, T, UPDATES = 32, 10, 700
GAMMA, LAM = 0.95, 0.9
net = ActorCritic()
actor_opt = torch.optim.Adam(net.actor.parameters(), lr=2e-3)
critic_opt = torch.optim.Adam(net.critic.parameters(), lr=4e-3)
env = VecTarget(N)
obs = env.obs()
avg = []

for upd in range(1, UPDATES + 1):
    S, A, R, D = [], [], [], []
    for _ in range(T):
        with torch.no_grad():
            a = torch.distributions.Categorical(logits=net.actor(obs)).sample()
        S.append(obs)
        A.append(a)
        obs, r, d = env.step(a.numpy())
        R.append(r)
        D.append(d)
    S, A = torch.stack(S), torch.stack(A)
    with torch.no_grad():
        V = net.critic(torch.cat([S, obs[None]])).squeeze(-1)
        adv = torch.zeros(T, N)
        last = torch.zeros(N)
        for t in range(T - 1, -1, -1):
            keep = 1 - D[t]
            delta = R[t] + GAMMA * V[t + 1] * keep - V[t]
            last = delta + GAMMA * LAM * keep * last
            adv[t] = last
        target = adv + V[:-1]
        adv = (adv - adv.mean()) / (adv.std() + 1e-6)

    dist = torch.distributions.Categorical(logits=net.actor(S))
    entropy = dist.entropy().mean()
    actor_loss = -(dist.log_prob(A) * adv).mean() - 0.01 * entropy
    actor_opt.zero_grad()
    actor_loss.backward()
    nn.utils.clip_grad_norm_(net.actor.parameters(), 0.5)
    actor_opt.step()

    critic_loss = F.mse_loss(net.critic(S).squeeze(-1), target)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    avg.append(torch.stack(R).mean().item())
    if upd % 70 == 0:
        print(f"update {upd:4d} reward/step {np.mean(avg[-40:]):+.3f} actor {actor_loss.item():+.4f} critic {critic_loss.item():.4f} entropy {entropy.item():.3f}")
