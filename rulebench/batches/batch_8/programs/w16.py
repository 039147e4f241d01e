import random
from collections import deque
import numpy as np
import gymnasium as gym
import torch
import torch.nn as nn
import torch.nn.functional as F

# DQN on CartPole
SEED = 0
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
env = gym.make("CartPole-v1")
GAMMA, BATCH = 0.99, 64


def make_net():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


q, q_target = make_net(), make_net()
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=5e-4)
memory = deque(maxlen=20000)
eps, returns, steps = 1.0, [], 0

episode = -1
while steps < 9000:
    episode += 1
    s, _ = env.reset(seed=SEED + episode)
    done, total = False, 0.0
    while not done:
        eps = max(0.05, 1.0 - steps / 3000)
        if random.random() < eps:
            a = env.action_space.sample()
        else:
            with torch.no_grad():
                a = int(q(torch.tensor(s)).argmax())
        s2, r, terminated, truncated, _ = env.step(a)
        done = terminated or truncated
        memory.append((s, a, r, s2))
        s, total, steps = s2, total + r, steps + 1
        if len(memory) >= 500:
            bs, ba, br, bs2 = map(np.array, zip(*random.sample(memory, BATCH)))
            bs, bs2 = torch.tensor(bs), torch.tensor(bs2)
            ba, br = torch.tensor(ba), torch.tensor(br, dtype=torch.float32)
            with torch.no_grad():
                target = br + GAMMA * q_target(bs2).max(1).values
            value = q(bs).gather(1, ba[:, None])[:, 0]
            loss = F.smooth_l1_loss(value, target)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if steps % 250 == 0:
            q_target.load_state_dict(q.state_dict())
    returns.append(total)
    if episode % 20 == 19:
        with torch.no_grad():
            mq = q(torch.zeros(1, 4)).max().item()
        print(f"episode {episode + 1} mean return {np.mean(returns[-20:]):.1f} eps {eps:.2f} Q(0) {mq:.1f}")
print("last 20 episodes", np.mean(returns[-20:]))
