"""DQN for CartPole, with replay memory and a target network (adapted from the usual tutorial)."""
import random
from collections import deque
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 3
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
env = gym.make("CartPole-v1")
GAMMA, BATCH, LR, SYNC, TOTAL = 0.99, 64, 1e-3, 250, 12000


def qnet():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


policy_net, target_net = qnet(), qnet()
target_net.load_state_dict(policy_net.state_dict())
target_net.eval()
opt = torch.optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = deque(maxlen=10000)


def optimize():
    s, a, r, s2, done = zip(*random.sample(memory, BATCH))
    s, s2 = torch.tensor(np.array(s)), torch.tensor(np.array(s2))
    a, r = torch.tensor(a).unsqueeze(1), torch.tensor(r)
    done = torch.tensor(done, dtype=torch.float32)
    q = policy_net(s).gather(1, a).squeeze(1)
    with torch.no_grad():
        nxt = target_net(s2).max(1).values
        y = r + GAMMA * nxt * (1 - done)
    loss = F.smooth_l1_loss(q, y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    opt.step()
    return loss.item()


state, _ = env.reset(seed=SEED)
ep_return, returns, updates, loss = 0.0, [], 0, float("nan")
for t in range(TOTAL):
    eps = max(0.05, 1.0 - t / 4000)
    if random.random() < eps:
        action = random.randrange(2)
    else:
        with torch.no_grad():
            action = int(policy_net(torch.tensor(state)).argmax())
    nxt, reward, terminated, truncated, _ = env.step(action)
    memory.append((state, action, float(reward), nxt, float(terminated)))
    state = nxt
    ep_return += reward
    if terminated or truncated:
        returns.append(ep_return)
        ep_return = 0.0
        state, _ = env.reset()
    if len(memory) >= 500:
        loss = optimize()
        updates += 1
        if updates % SYNC == 0:
            policy_net.load_state_dict(target_net.state_dict())
    if t % 1000 == 999:
        print(f"t={t + 1} eps={eps:.2f} loss={loss:.4f} mean return (last 15 episodes) {np.mean(returns[-15:]):.1f}")
