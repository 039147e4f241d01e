"""REINFORCE on CartPole, homework 3."""
import argparse
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--episodes", type=int, default=130)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()


class Policy(nn.Module):
    def __init__(self, obs_dim, n_actions, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs_dim, hidden),
            nn.Tanh(),
            nn.Linear(hidden, n_actions),
        )

    def forward(self, x):
        return Categorical(logits=self.net(x))


def run_episode(env, policy, seed=None):
    obs, _ = env.reset(seed=seed)
    log_probs, rewards = [], []
    done = False
    while not done:
        dist = policy(torch.as_tensor(obs, dtype=torch.float32))
        action = dist.sample()
        obs, reward, terminated, truncated, _ = env.step(action.item())
        log_probs.append(dist.log_prob(action))
        rewards.append(reward)
        done = terminated or truncated
    return log_probs, rewards


def discounted_returns(rewards, gamma):
    returns = []
    running = 0.0
    for r in rewards[::-1]:
        running = r + gamma * running
        returns.append(running)
    returns = torch.tensor(returns)
    # normalise per episode
    return (returns - returns.mean()) / (returns.std() + 1e-8)


def main():
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    torch.set_num_threads(1)
    env = gym.make("CartPole-v1", max_episode_steps=150)
    policy = Policy(env.observation_space.shape[0], env.action_space.n)
    optimizer = torch.optim.Adam(policy.parameters(), lr=args.lr)
    recent = deque(maxlen=30)

    for ep in range(args.episodes):
        log_probs, rewards = run_episode(env, policy, seed=args.seed * 1000 + ep)
        returns = discounted_returns(rewards, args.gamma)
        loss = -(torch.stack(log_probs) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(sum(rewards))
        if (ep + 1) % 25 == 0:
            print(f"episode {ep + 1:4d}  loss {loss.item():8.3f}  mean return {np.mean(recent):7.2f}")

    print(f"final mean return over last 30 episodes: {np.mean(recent):.1f}")


if __name__ == "__main__":
    main()
