"""DQN on CartPole with soft target updates."""
import random
from collections import namedtuple, deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))

BATCH_SIZE = 64
GAMMA = 0.98
EPS_START, EPS_END, EPS_STEPS = 0.9, 0.03, 1500
TAU = 0.01
LR = 1e-3
STEPS = 3000
SEED = 3

random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)

env = gym.make("CartPole-v1", max_episode_steps=200)
env.action_space.seed(SEED)


class DQN(nn.Module):
    def __init__(self, n_obs, n_act):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_act))

    def forward(self, x):
        return self.layers(x)


policy_net, target_net = DQN(4, 2), DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = deque(maxlen=10000)


def select_action(state, step):
    eps = max(EPS_END, EPS_START - (EPS_START - EPS_END) * step / EPS_STEPS)
    if random.random() < eps:
        return env.action_space.sample()
    with torch.no_grad():
        return policy_net(state).argmax(1).item()


def optimize_model():
    batch = Transition(*zip(*random.sample(memory, BATCH_SIZE)))
    non_final = torch.tensor([s is not None for s in batch.next_state])
    next_states = torch.cat([s for s in batch.next_state if s is not None])
    states = torch.cat(batch.state)
    actions = torch.tensor(batch.action).unsqueeze(1)
    rewards = torch.tensor(batch.reward)
    q = policy_net(states).gather(1, actions)
    next_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_values[non_final] = target_net(next_states).max(1).values
    expected = rewards + GAMMA * next_values
    loss = nn.functional.smooth_l1_loss(q, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item(), q.mean().item()


def as_tensor(obs):
    return torch.tensor(obs, dtype=torch.float32).unsqueeze(0)


state = as_tensor(env.reset(seed=SEED)[0])
returns, ep_return, losses, qs = [], 0.0, [], []
for step in range(STEPS):
    action = select_action(state, step)
    obs, reward, terminated, truncated, _ = env.step(action)
    ep_return += reward
    next_state = None if terminated else as_tensor(obs)
    memory.append(Transition(state, action, next_state, float(reward)))
    state = as_tensor(obs)
    if terminated or truncated:
        returns.append(ep_return)
        ep_return = 0.0
        state = as_tensor(env.reset()[0])
    if len(memory) >= 500:
        l, qm = optimize_model()
        losses.append(l)
        qs.append(qm)
        with torch.no_grad():
            for tp, p in zip(target_net.parameters(), policy_net.parameters()):
                tp.mul_(1 - TAU).add_(p, alpha=TAU)
    if (step + 1) % 500 == 0:
        print(f"step {step + 1} episodes {len(returns)} return(last 10) {np.mean(returns[-10:]):.1f} "
              f"loss {np.mean(losses[-300:]):.4f} mean q {np.mean(qs[-300:]):.2f}")
print("best 10-episode mean:", max(np.mean(returns[i:i + 10]) for i in range(max(1, len(returns) - 10))))
