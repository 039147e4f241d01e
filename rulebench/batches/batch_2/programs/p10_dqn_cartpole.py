"""Minimal DQN for CartPole-v1 (single file, CPU)."""
import random
from collections import deque
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

SEED = 3
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
env = gym.make("CartPole-v1")
q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
target = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory = deque(maxlen=10000)
GAMMA, BATCH, WARM, SYNC, TOTAL = 0.98, 64, 500, 150, 7000


def learn():
    s, a, r, s2, done = zip(*random.sample(memory, BATCH))
    s = torch.tensor(np.array(s)); s2 = torch.tensor(np.array(s2))
    a = torch.tensor(a)[:, None]; r = torch.tensor(r)
    with torch.no_grad():
        y = r + GAMMA * target(s2).max(1).values
    qa = q(s).gather(1, a).squeeze(1)
    loss = nn.functional.smooth_l1_loss(qa, y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 10)
    opt.step()
    return loss.item(), qa.mean().item()


s, _ = env.reset(seed=SEED)
ret, returns, stats = 0.0, [], (0, 0)
for t in range(TOTAL):
    eps = max(0.05, 1 - t / 2500)
    if random.random() < eps:
        a = random.randrange(2)
    else:
        with torch.no_grad():
            a = int(q(torch.tensor(s)).argmax())
    s2, r, term, trunc, _ = env.step(a)
    memory.append((s, a, float(r), s2, float(term)))
    ret += r
    s = s2
    if term or trunc:
        returns.append(ret)
        ret = 0.0
        s, _ = env.reset()
    if t >= WARM:
        stats = learn()
        if t % SYNC == 0:
            target.load_state_dict(q.state_dict())
    if t % 500 == 0 and returns:
        print(f"t={t:5d} eps={eps:.2f} return(last 10)={np.mean(returns[-10:]):.1f} loss={stats[0]:.3f} q={stats[1]:.2f}")
