"""DQN on a small windy grid. Homework 3."""
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn

SEED = 7
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)


class Grid:
    W, H = 6, 6
    GOAL, HOLES = (5, 5), {(2, 2), (3, 2), (1, 4), (4, 4)}

    def reset(self):
        self.p, self.t = (0, 0), 0
        return self.obs()

    def obs(self):
        o = np.zeros(self.W + self.H, np.float32)
        o[self.p[0]] = 1
        o[self.W + self.p[1]] = 1
        return o

    def step(self, a):
        dx, dy = [(1, 0), (-1, 0), (0, 1), (0, -1)][a]
        if random.random() < 0.05:
            dx, dy = 0, 1
        self.p = (min(max(self.p[0] + dx, 0), 5), min(max(self.p[1] + dy, 0), 5))
        self.t += 1
        if self.p == self.GOAL:
            return self.obs(), 1.0, True
        if self.p in self.HOLES:
            return self.obs(), -1.0, True
        return self.obs(), -0.02, False


def make():
    return nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


q, q_target = make(), make()
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
buf = deque(maxlen=10000)
GAMMA, BATCH = 0.95, 64


def learn():
    s, a, r, s2, d = zip(*random.sample(buf, BATCH))
    s, s2 = torch.tensor(np.array(s)), torch.tensor(np.array(s2))
    a = torch.tensor(a).unsqueeze(1)
    r, d = torch.tensor(r, dtype=torch.float32), torch.tensor(d, dtype=torch.float32)
    with torch.no_grad():
        target = r + GAMMA * (1 - d) * q_target(s2).max(1)[0]
    q_sa = q(s).gather(1, a)
    td = q_sa - target
    loss = torch.where(td.abs() < 1, 0.5 * td ** 2, td.abs() - 0.5).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


env, steps, history = Grid(), 0, []
for ep in range(1, 501):
    s, done, ret = env.reset(), False, 0.0
    while not done and env.t < 40:
        eps = max(0.05, 1 - steps / 4000)
        if random.random() < eps:
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = int(q(torch.tensor(s)).argmax())
        s2, r, done = env.step(a)
        buf.append((s, a, r, s2, float(done)))
        s, ret, steps = s2, ret + r, steps + 1
        if len(buf) > 500:
            loss = learn()
        if steps % 200 == 0:
            q_target.load_state_dict(q.state_dict())
    history.append(ret)
    if ep % 50 == 0:
        print(f"episode {ep} steps {steps} eps {eps:.2f} mean return {np.mean(history[-50:]):.3f}")

rets = []
for _ in range(200):
    s, done, ret = env.reset(), False, 0.0
    while not done and env.t < 40:
        with torch.no_grad():
            a = int(q(torch.tensor(s)).argmax())
        s, r, done = env.step(a)
        ret += r
    rets.append(ret)
print(f"greedy policy: mean return {np.mean(rets):.3f}, reaches the goal in {np.mean(np.array(rets) > 0):.2%}")
