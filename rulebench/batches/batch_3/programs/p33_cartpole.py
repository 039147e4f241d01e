import argparse
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

SEED = 1


class Policy(nn.Module):
    def __init__(self, obs, act, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, act))

    def forward(self, x):
        return Categorical(logits=self.net(x))


def discount(rewards, gamma):
    out, R = [], 0.0
    for r in reversed(rewards):
        R = r + gamma * R
        out.append(R)
    out = torch.tensor(out, dtype=torch.float32)
    return (out - out.mean()) / (out.std() + 1e-8)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--episodes", type=int, default=450)
    p.add_argument("--gamma", type=float, default=0.99)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()

    torch.manual_seed(SEED)
    env = gym.make("CartPole-v1")
    policy = Policy(4, 2)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    history = []
    for ep in range(args.episodes):
        obs, _ = env.reset(seed=SEED * 1000 + ep)
        log_probs, rewards = [], []
        done = False
        while not done:
            dist = policy(torch.as_tensor(obs, dtype=torch.float32))
            a = dist.sample()
            log_probs.append(dist.log_prob(a))
            obs, r, terminated, truncated, _ = env.step(a.item())
            rewards.append(r)
            done = terminated or truncated
        returns = discount(rewards, args.gamma)
        loss = -(torch.stack(log_probs) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(sum(rewards))
        if (ep + 1) % 25 == 0:
            print(f"episode {ep+1:4d}  mean return (25) {np.mean(history[-25:]):7.1f}  loss {loss.item():8.3f}")
    print("final mean return over 50 episodes:", np.mean(history[-50:]))


if __name__ == "__main__":
    main()
