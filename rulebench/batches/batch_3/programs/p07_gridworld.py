"""DQN on a small grid world (5x5, pits, one goal). Target network is copied every 100 updates."""
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

SEED = 5
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)

SIZE = 5
PITS = {(1, 1), (1, 3), (3, 2)}
GOAL = (4, 4)
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Grid:
    def reset(self):
        self.pos, self.t = (0, 0), 0
        return self.obs()

    def obs(self):
        o = np.zeros(SIZE * SIZE, dtype=np.float32)
        o[self.pos[0] * SIZE + self.pos[1]] = 1.0
        return o

    def step(self, a):
        self.t += 1
        if random.random() < 0.05:              # slippery floor
            a = random.randrange(4)
        r = min(max(self.pos[0] + MOVES[a][0], 0), SIZE - 1)
        c = min(max(self.pos[1] + MOVES[a][1], 0), SIZE - 1)
        self.pos = (r, c)
        if self.pos in PITS:
            return self.obs(), -1.0, True, False
        if self.pos == GOAL:
            return self.obs(), 1.0, True, False
        return self.obs(), -0.02, False, self.t >= 40


def mlp():
    return nn.Sequential(nn.Linear(SIZE * SIZE, 64), nn.ReLU(), nn.Linear(64, 4))


q, target = mlp(), mlp()
target.load_state_dict(q.state_dict())
for p in target.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
huber = nn.SmoothL1Loss()
memory = deque(maxlen=10000)
env = Grid()
gamma, eps, updates = 0.95, 1.0, 0
scores = []

for episode in range(600):
    s, done, trunc, total = env.reset(), False, False, 0.0
    while not (done or trunc):
        if random.random() < eps:
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = int(q(torch.from_numpy(s)).argmax())
        s2, r, done, trunc = env.step(a)
        memory.append((s, a, r, s2, float(done)))
        s = s2
        total += r
        if len(memory) >= 300:
            b = random.sample(memory, 64)
            S, A, R, S2, D = map(np.array, zip(*b))
            S, S2 = torch.from_numpy(S), torch.from_numpy(S2)
            A = torch.from_numpy(A).long()
            R = torch.from_numpy(R).float()
            D = torch.from_numpy(D).float()
            qa = q(S).gather(1, A[:, None]).squeeze(1)
            with torch.no_grad():
                y = R + gamma * (1 - D) * target(S2).max(1).values
            loss = huber(qa, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(q.parameters(), 5.0)
            opt.step()
            updates += 1
            if updates % 100 == 0:
                target.load_state_dict(q.state_dict())
    eps = max(0.1, eps * 0.992)
    scores.append(total)
    if (episode + 1) % 50 == 0:
        print(f"ep {episode+1} mean return {np.mean(scores[-50:]):.3f} eps {eps:.2f}")

wins = 0
for _ in range(200):
    s, done, trunc, r = env.reset(), False, False, 0
    while not (done or trunc):
        with torch.no_grad():
            a = int(q(torch.from_numpy(s)).argmax())
        s, r, done, trunc = env.step(a)
    wins += r > 0
print("greedy success rate", wins / 200)
