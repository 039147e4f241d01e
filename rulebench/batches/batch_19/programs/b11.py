import argparse
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

parser = argparse.ArgumentParser(description="REINFORCE on CartPole")
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--seed", type=int, default=7)
parser.add_argument("--episodes", type=int, default=130)
parser.add_argument("--lr", type=float, default=5e-3)
args = parser.parse_args()

torch.manual_seed(args.seed)
np.random.seed(args.seed)
env = gym.make("CartPole-v1", max_episode_steps=100)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 64)
        self.fc2 = nn.Linear(64, 2)
        self.log_probs = []
        self.rewards = []

    def forward(self, x):
        return torch.softmax(self.fc2(torch.relu(self.fc1(x))), dim=-1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=args.lr)


def select_action(state):
    probs = policy(torch.as_tensor(state, dtype=torch.float32))
    dist = Categorical(probs)
    action = dist.sample()
    policy.log_probs.append(dist.log_prob(action))
    return action.item()


def finish_episode():
    R = 0.0
    returns = []
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.append(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = torch.stack([-lp * g for lp, g in zip(policy.log_probs, returns)]).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.log_probs.clear()
    policy.rewards.clear()
    return loss.item()


running = 10.0
lengths = []
for ep in range(args.episodes):
    state, _ = env.reset(seed=args.seed if ep == 0 else None)
    done = False
    steps = 0
    while not done:
        action = select_action(state)
        state, reward, terminated, truncated, _ = env.step(action)
        policy.rewards.append(reward)
        done = terminated or truncated
        steps += 1
    loss = finish_episode()
    lengths.append(steps)
    running = 0.95 * running + 0.05 * steps
    if (ep + 1) % 25 == 0:
        print(f"episode {ep + 1}\tlast {steps}\trunning {running:.1f}\tloss {loss:.2f}")

print("mean length of the last 50 episodes:", np.mean(lengths[-50:]))
