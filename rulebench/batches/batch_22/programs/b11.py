import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical

# --- hyperparameters ---
gamma = 0.98
lr = 5e-3
seed = 3
n_episodes = 200
max_steps = 200

env = gym.make("CartPole-v1")
torch.manual_seed(seed)
np.random.seed(seed)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.affine2 = nn.Linear(64, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = torch.tanh(self.affine1(x))
        return torch.softmax(self.affine2(x), dim=-1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=lr)


def select_action(state):
    probs = policy(torch.from_numpy(state).float())
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0.0
    returns = []
    for r in reversed(policy.rewards):
        R = r + gamma * R
        returns.append(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    loss = 0
    for log_prob, R in zip(policy.saved_log_probs, returns):
        loss = loss - log_prob * R
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    policy.rewards.clear()
    policy.saved_log_probs.clear()
    return loss.item()


history = []
for ep in range(n_episodes):
    state, _ = env.reset(seed=seed + ep)
    total = 0
    for t in range(max_steps):
        action = select_action(state)
        state, reward, terminated, truncated, _ = env.step(action)
        policy.rewards.append(reward)
        total += reward
        if terminated or truncated:
            break
    loss = finish_episode()
    history.append(total)
    if (ep + 1) % 25 == 0:
        print(f"episode {ep + 1:4d}  last-25 mean reward {np.mean(history[-25:]):6.1f}  loss {loss:8.3f}")

# greedy evaluation
scores = []
with torch.no_grad():
    for k in range(10):
        s, _ = env.reset(seed=1000 + k)
        total = 0
        for t in range(max_steps):
            a = policy(torch.from_numpy(s).float()).argmax().item()
            s, r, term, trunc, _ = env.step(a)
            total += r
            if term or trunc:
                break
        scores.append(total)
print("evaluation:", np.mean(scores))
