# REINFORCE on CartPole, adapted from the pytorch examples
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
parser.add_argument("--episodes", type=int, default=220)
parser.add_argument("--log-interval", type=int, default=20)
args = parser.parse_args()

env = gym.make("CartPole-v1", max_episode_steps=200)
torch.manual_seed(SEED)
np.random.seed(SEED)


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 64)
        self.affine2 = nn.Linear(64, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return F.softmax(self.affine2(x), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=7e-3)
eps = np.finfo(np.float32).eps.item()


def select_action(state):
    state = torch.from_numpy(state).float().unsqueeze(0)
    m = Categorical(policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    policy_loss = []
    returns = []
    for r in policy.rewards[::-1]:
        R = r + args.gamma * R
        returns.append(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    loss = torch.cat(policy_loss).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return loss.item()


running_reward = 10
lengths = []
for i_episode in range(1, args.episodes + 1):
    state, _ = env.reset(seed=SEED + i_episode)
    done, ep_reward = False, 0
    while not done:
        action = select_action(state)
        state, reward, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        policy.rewards.append(reward)
        ep_reward += reward
    running_reward = 0.05 * ep_reward + 0.95 * running_reward
    lengths.append(ep_reward)
    loss = finish_episode()
    if i_episode % args.log_interval == 0:
        print("Episode {}\tLast reward: {:.0f}\tAverage reward: {:.2f}\tloss {:.2f}".format(
            i_episode, ep_reward, running_reward, loss))

print("mean reward of the last 30 episodes: %.1f" % np.mean(lengths[-30:]))
