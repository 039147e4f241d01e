"""REINFORCE with a value baseline on CartPole."""
import argparse
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--episodes", type=int, default=320)
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--seed", type=int, default=11)
args = parser.parse_args()

torch.manual_seed(args.seed)
np.random.seed(args.seed)
env = gym.make("CartPole-v1", max_episode_steps=200)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh())
        self.pi = nn.Linear(64, 2)
        self.v = nn.Linear(64, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def discounted_returns(rewards, gamma):
    returns = []
    running = 0.0
    for r in rewards:
        running = r + gamma * running
        returns.append(running)
    return torch.tensor(returns, dtype=torch.float32)


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=args.lr)
history = []

for ep in range(args.episodes):
    obs, _ = env.reset(seed=args.seed * 1000 + ep)
    states, actions, rewards = [], [], []
    finished = False
    while not finished:
        s = torch.as_tensor(obs, dtype=torch.float32)
        with torch.no_grad():
            dist, _ = policy(s)
            a = dist.sample()
        states.append(s)
        actions.append(a)
        obs, r, term, trunc, _ = env.step(a.item())
        rewards.append(r)
        finished = term or trunc

    G = discounted_returns(rewards, args.gamma) / 10.0
    dist, v = policy(torch.stack(states))
    adv = (G - v).detach()
    pg_loss = -(dist.log_prob(torch.stack(actions)) * adv).mean()
    v_loss = F.mse_loss(v, G)
    loss = pg_loss + 0.5 * v_loss - 0.005 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()

    history.append(sum(rewards))
    if (ep + 1) % 20 == 0:
        print(f"episode {ep + 1:4d}  mean return (last 20) {np.mean(history[-20:]):6.1f}  value loss {v_loss.item():.3f}")

print("final 40-episode average:", np.mean(history[-40:]))
