"""Trains a Q-network on a cart with a pole, as the DQN tutorial does; an update each move."""

import argparse
import copy
import random
import time
from collections import deque

import numpy as np
import torch
import torch.nn as nn
from torch.nn.functional import smooth_l1_loss

BATCH_SIZE, GAMMA, TAU, LR = 64, 0.99, 0.005, 3e-4


class CartPole:
    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4).astype(np.float32)
        return self.state

    def step(self, action):
        _, x_dot, theta, theta_dot = self.state
        force, cos, sin = 10.0 if action else -10.0, np.cos(theta), np.sin(theta)
        temp = (force + 0.05 * theta_dot**2 * sin) / 1.1
        theta_acc = (9.8 * sin - cos * temp) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        x_acc = temp - 0.05 * theta_acc * cos / 1.1
        change = np.array([x_dot, x_acc, theta_dot, theta_acc], np.float32)
        self.state = self.state + np.float32(0.02) * change
        done = bool(abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095)
        return self.state, 1.0, done


parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=2000, help="optimizer steps")
args = parser.parse_args()

random.seed(1)
torch.manual_seed(1)
env = CartPole(np.random.default_rng(1))
policy_net = nn.Sequential(
    nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)
)
target_net = copy.deepcopy(policy_net)
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = deque(maxlen=10000)


def optimize_model():
    state, action, reward, next_state, done = zip(*random.sample(memory, BATCH_SIZE), strict=True)
    state, next_state = torch.tensor(np.array(state)), torch.tensor(np.array(next_state))
    values = policy_net(state).gather(1, torch.tensor(action)[:, None]).squeeze(1)
    with torch.no_grad():
        going_on = 1 - torch.tensor(done, dtype=torch.float32)
        next_values = target_net(next_state).max(1).values * going_on
    expected = torch.tensor(reward) + GAMMA * next_values
    loss = smooth_l1_loss(values, expected)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for target, online in zip(target_net.parameters(), policy_net.parameters(), strict=True):
            target.lerp_(online, TAU)
    return loss


warmup = max(1, min(20, args.steps // 10))
log_every = max(1, args.steps // 10)
step, moves, state = 0, 0, env.reset()
start = time.perf_counter()
while step < args.steps:
    epsilon = 0.05 + 0.85 * np.exp(-moves / 1000)
    if random.random() < epsilon:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = int(policy_net(torch.tensor(state)[None]).argmax(1))
    next_state, reward, done = env.step(action)
    memory.append((state, action, reward, next_state, done))
    state, moves = env.reset() if done else next_state, moves + 1
    if len(memory) < BATCH_SIZE:
        continue
    if step == warmup:
        start = time.perf_counter()
    loss = optimize_model()
    step += 1
    if step % log_every == 0:
        print(f"step {step} loss {loss.item():.4f}")

last_loss = loss.item()
elapsed = time.perf_counter() - start
print(f"steps_per_s={(args.steps - warmup) / elapsed:.3f} loss={last_loss!r}")
