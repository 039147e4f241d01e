"""DQN on a small maze."""
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn

SEED = 5
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)

Transition = namedtuple("Transition", "state action reward next_state done")


class Maze:
    """7x7 grid, start in the top left corner, goal bottom right, some walls."""
    MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    WALLS = {(1, 1), (1, 2), (1, 3), (3, 3), (3, 4), (3, 5), (5, 1), (5, 2), (2, 5), (5, 5)}

    def __init__(self, size=7, limit=60):
        self.size, self.limit = size, limit
        self.grid = np.zeros((size, size), dtype=np.float32)

    def reset(self):
        self.pos, self.t = (0, 0), 0
        self.grid[:] = 0
        self.grid[self.pos] = 1
        return self.grid.reshape(-1)

    def step(self, a):
        self.t += 1
        r, c = self.pos[0] + self.MOVES[a][0], self.pos[1] + self.MOVES[a][1]
        if 0 <= r < self.size and 0 <= c < self.size and (r, c) not in self.WALLS:
            self.grid[self.pos] = 0
            self.pos = (r, c)
            self.grid[self.pos] = 1
        goal = self.pos == (self.size - 1, self.size - 1)
        reward = 1.0 if goal else -0.02
        return self.grid.reshape(-1), reward, goal, self.t >= self.limit


class QNet(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_out))

    def forward(self, x):
        return self.body(x)


env = Maze()
q, target = QNet(49, 4), QNet(49, 4)
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
memory = deque(maxlen=10000)
GAMMA, BATCH = 0.97, 64


def act(state, eps):
    if random.random() < eps:
        return random.randrange(4)
    with torch.no_grad():
        return int(q(torch.as_tensor(state)).argmax())


def learn():
    batch = Transition(*zip(*random.sample(memory, BATCH)))
    s = torch.tensor(np.stack(batch.state))
    s2 = torch.tensor(np.stack(batch.next_state))
    a = torch.tensor(batch.action).unsqueeze(1)
    r = torch.tensor(batch.reward)
    d = torch.tensor(batch.done, dtype=torch.float32)
    qa = q(s).gather(1, a).squeeze(1)
    with torch.no_grad():
        y = r + GAMMA * (1 - d) * target(s2).max(1).values
    loss = nn.functional.smooth_l1_loss(qa, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


steps, losses, returns = 0, [], []
for episode in range(1, 201):
    s, total = env.reset(), 0.0
    eps = max(0.05, 1.0 - episode / 120)
    while True:
        a = act(s, eps)
        s2, r, done, timeout = env.step(a)
        memory.append(Transition(s, a, r, s2, done))
        s = s2
        total += r
        steps += 1
        if len(memory) >= 500 and steps % 3 == 0:
            losses.append(learn())
        if steps % 300 == 0:
            target.load_state_dict(q.state_dict())
        if done or timeout:
            break
    returns.append(total)
    if episode % 25 == 0:
        print(f"episode {episode} steps {steps} return {np.mean(returns[-25:]):.3f} "
              f"td loss {np.mean(losses[-300:]) if losses else 0:.5f}")

s, total = env.reset(), 0.0
for _ in range(env.limit):
    s, r, done, timeout = env.step(act(s, 0.0))
    total += r
    if done or timeout:
        break
print(f"greedy episode: return {total:.2f} in {env.t} steps, goal reached: {done}")
