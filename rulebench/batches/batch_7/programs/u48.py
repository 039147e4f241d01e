"""Tabular Q-learning style DQN on a small grid world with a target network."""
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn

random.seed(304); np.random.seed(304); torch.manual_seed(304)
SIZE, GOAL, PITS = 5, (4, 4), {(1, 3), (3, 1), (2, 2)}
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


def obs(p):
    v = np.zeros(SIZE * SIZE, dtype=np.float32)
    v[p[0] * SIZE + p[1]] = 1
    return v


def step(p, a):
    if random.random() < 0.1:
        a = random.randrange(4)
    q = (min(max(p[0] + MOVES[a][0], 0), SIZE - 1), min(max(p[1] + MOVES[a][1], 0), SIZE - 1))
    if q == GOAL:
        return q, 1.0, True
    if q in PITS:
        return q, -1.0, True
    return q, -0.02, False


net = nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 4))
target = nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 4))
target.load_state_dict(net.state_dict())
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
buf = deque(maxlen=5000)
returns, updates = [], 0
for ep in range(400):
    eps = max(0.05, 1 - ep / 200)
    p, done, total, t = (0, 0), False, 0.0, 0
    while not done and t < 50:
        with torch.no_grad():
            a = random.randrange(4) if random.random() < eps else net(torch.from_numpy(obs(p))).argmax().item()
        q, r, done = step(p, a)
        buf.append((obs(p), a, r, obs(q), float(done)))
        p, total, t = q, total + r, t + 1
        if len(buf) >= 200:
            s, a_, r_, s2, d = map(np.array, zip(*random.sample(buf, 32)))
            with torch.no_grad():
                y = torch.tensor(r_).float() + 0.97 * (1 - torch.tensor(d).float()) * target(torch.tensor(s2)).max(1).values
            qv = net(torch.tensor(s)).gather(1, torch.tensor(a_)[:, None]).squeeze(1)
            loss = nn.functional.smooth_l1_loss(qv, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            updates += 1
            if updates % 200 == 0:
                target.load_state_dict(net.state_dict())
    returns.append(total)
    if (ep + 1) % 40 == 0:
        print(f"episode {ep + 1} eps {eps:.2f} mean return {np.mean(returns[-40:]):.3f} updates {updates}")
