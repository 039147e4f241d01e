"""DQN on a slippery grid with a pit."""
import copy
import random
from collections import deque, namedtuple
import numpy as np
import torch
import torch.nn as nn

Transition = namedtuple("Transition", "s a r s2 done")


class Grid:
    SIZE, PITS, GOAL = 5, {(2, 2), (3, 1)}, (4, 4)
    MOVES = [(0, 1), (1, 0), (0, -1), (-1, 0)]

    def __init__(self, rng):
        self.rng = rng

    def obs(self):
        v = np.zeros(self.SIZE * self.SIZE, np.float32)
        v[self.pos[0] * self.SIZE + self.pos[1]] = 1
        return v

    def reset(self):
        self.pos, self.t = (0, 0), 0
        return self.obs()

    def step(self, a):
        if self.rng.random() < 0.1:
            a = self.rng.randrange(4)
        dr, dc = self.MOVES[a]
        self.pos = tuple(min(max(p + d, 0), self.SIZE - 1) for p, d in zip(self.pos, (dr, dc)))
        self.t += 1
        if self.pos == self.GOAL:
            return self.obs(), 1.0, True, False
        if self.pos in self.PITS:
            return self.obs(), -0.5, True, False
        return self.obs(), -0.01, False, self.t >= 40


class ReplayBuffer:
    def __init__(self, cap, rng):
        self.buf, self.rng = deque(maxlen=cap), rng

    def push(self, *a):
        self.buf.append(Transition(*a))

    def sample(self, n):
        b = Transition(*zip(*self.rng.sample(list(self.buf), n)))
        f = lambda v, t: torch.as_tensor(np.array(v), dtype=t)
        return f(b.s, torch.float32), f(b.a, torch.long), f(b.r, torch.float32), f(b.s2, torch.float32), f(b.done, torch.float32)


class Agent:
    def __init__(self, n_obs, n_act, lr=2e-3, gamma=0.97):
        self.policy = nn.Sequential(nn.Linear(n_obs, 64), nn.ReLU(), nn.Linear(64, n_act))
        self.target = copy.deepcopy(self.policy)
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=lr)
        self.gamma, self.n_act = gamma, n_act

    def act(self, s, eps, rng):
        if rng.random() < eps:
            return rng.randrange(self.n_act)
        with torch.no_grad():
            return int(self.policy(torch.from_numpy(s)).argmax())

    def learn(self, batch):
        s, a, r, s2, d = batch
        q = self.policy(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            y = r + self.gamma * (1 - d) * self.target(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def sync(self):
        self.policy.load_state_dict(self.target.state_dict())


def evaluate(agent, n=50):
    rng = random.Random(99)
    env, rets = Grid(rng), []
    for _ in range(n):
        s, done, trunc, R = env.reset(), False, False, 0.0
        while not (done or trunc):
            s, r, done, trunc = env.step(agent.act(s, 0.0, rng))
            R += r
        rets.append(R)
    return float(np.mean(rets))


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    env, buf, agent = Grid(rng), ReplayBuffer(5000, rng), Agent(25, 4)
    s, losses = env.reset(), []
    for step in range(1, 7001):
        eps = max(0.1, 1 - step / 4500)
        a = agent.act(s, eps, rng)
        s2, r, done, trunc = env.step(a)
        buf.push(s, a, r, s2, done)
        s = env.reset() if done or trunc else s2
        if step > 200:
            losses.append(agent.learn(buf.sample(64)))
        if step % 100 == 0:
            agent.sync()
        if step % 700 == 0:
            print(f"step {step} eps {eps:.2f} loss {np.mean(losses[-300:]):.5f} greedy return {evaluate(agent):.3f}")


if __name__ == "__main__":
    main()
