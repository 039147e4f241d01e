import random
from collections import deque, namedtuple
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# DQN on a 6x6 grid with a wall of lava, my own env so no gym needed
random.seed(0); np.random.seed(0); torch.manual_seed(0)

Transition = namedtuple("Transition", "s a r s2 done")
SIZE = 6
LAVA = {(2, 1), (2, 2), (2, 3), (4, 3), (4, 4)}
GOAL = (5, 5)
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Grid:
    def reset(self):
        self.t = 0
        self.p = GOAL
        while self.p == GOAL or self.p in LAVA:
            self.p = (random.randrange(SIZE), random.randrange(SIZE))
        return self.obs()

    def obs(self):
        o = np.zeros(2 * SIZE, dtype=np.float32)
        o[self.p[0]] = 1; o[SIZE + self.p[1]] = 1
        return o

    def step(self, a):
        self.t += 1
        q = (self.p[0] + MOVES[a][0], self.p[1] + MOVES[a][1])
        if 0 <= q[0] < SIZE and 0 <= q[1] < SIZE:
            self.p = q
        if self.p == GOAL:
            return self.obs(), 1.0, True, False
        if self.p in LAVA:
            return self.obs(), -1.0, True, False
        return self.obs(), -0.01, False, self.t >= 40


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2 * SIZE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.f(x)


env, memory = Grid(), deque(maxlen=10000)
policy, target = QNet(), QNet()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
GAMMA, BATCH = 0.97, 64


def learn():
    batch = Transition(*zip(*random.sample(memory, BATCH)))
    s = torch.from_numpy(np.stack(batch.s))
    s2 = torch.from_numpy(np.stack(batch.s2))
    a = torch.tensor(batch.a).unsqueeze(1)
    r = torch.tensor(batch.r)
    done = torch.tensor(batch.done, dtype=torch.float32)
    q = policy(s).gather(1, a)
    with torch.no_grad():
        q_next = target(s2).max(1).values
        expected = r + GAMMA * q_next * (1 - done)
    loss = F.smooth_l1_loss(q, expected)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy.parameters(), 10)
    optimizer.step()
    return loss.item()


def evaluate(n=100):
    tot = 0.0
    for _ in range(n):
        s, d = env.reset(), False
        while not d:
            with torch.no_grad():
                a = policy(torch.from_numpy(s)).argmax().item()
            s, r, term, trunc = env.step(a)
            d = term or trunc
            tot += r
    return tot / n


steps, eps, losses = 0, 1.0, []
for ep in range(800):
    s, d = env.reset(), False
    while not d:
        a = random.randrange(4) if random.random() < eps else policy(torch.from_numpy(s)).argmax().item()
        s2, r, term, trunc = env.step(a)
        d = term or trunc
        memory.append(Transition(s, a, r, s2, term))
        s = s2
        steps += 1
        if len(memory) > 500 and steps % 2 == 0:
            losses.append(learn())
        if steps % 200 == 0:
            target.load_state_dict(policy.state_dict())
    eps = max(0.1, eps * 0.99)
    if ep % 100 == 99:
        print(f"episode {ep+1} steps {steps} eps {eps:.2f} loss {np.mean(losses[-200:]) if losses else 0:.4f} greedy return {evaluate(30):.3f}")
print("mean greedy return over 100 episodes:", round(evaluate(), 3))
