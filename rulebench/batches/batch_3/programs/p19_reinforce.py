"""REINFORCE on CartPole-v1, following the classic pytorch/examples script."""
import argparse
import numpy as np
import gymnasium as gym
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

SEED = 543
parser = argparse.ArgumentParser(description="PyTorch REINFORCE example")
parser.add_argument("--gamma", type=float, default=0.99)
parser.add_argument("--episodes", type=int, default=300)
parser.add_argument("--log-interval", type=int, default=20)
args = parser.parse_args()

env = gym.make("CartPole-v1", max_episode_steps=300)
torch.manual_seed(SEED)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.affine2 = nn.Linear(64, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=5e-3)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    probs = policy(torch.from_numpy(state).float().unsqueeze(0))
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    returns = []
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.append(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_loss = [-lp * R for lp, R in zip(policy.saved_log_probs, returns)]
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


lengths = []
for ep in range(args.episodes):
    state, _ = env.reset(seed=SEED + ep)
    done, n = False, 0
    while not done:
        state, reward, term, trunc, _ = env.step(select_action(state))
        policy.rewards.append(reward)
        n += 1
        done = term or trunc
    finish_episode()
    lengths.append(n)
    if (ep + 1) % args.log_interval == 0:
        print(f"Episode {ep + 1}\tLast length: {n}\tAverage length: {np.mean(lengths[-20:]):.1f}")
print("average of the last 50 episodes:", np.mean(lengths[-50:]))
