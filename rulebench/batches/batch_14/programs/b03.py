"""DQN for a 5x5 grid with a pit, one-hot states, target network and replay."""
import argparse
import random
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F


class Grid:
    size = 5
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    pits = {(1, 1), (2, 3), (3, 1)}

    def reset(self):
        self.pos, self.t = (0, 0), 0
        return self.obs()

    def obs(self):
        v = torch.zeros(self.size ** 2)
        v[self.pos[0] * self.size + self.pos[1]] = 1
        return v

    def step(self, a):
        dr, dc = self.moves[a]
        r = min(max(self.pos[0] + dr, 0), self.size - 1)
        c = min(max(self.pos[1] + dc, 0), self.size - 1)
        self.pos, self.t = (r, c), self.t + 1
        if self.pos == (4, 4):
            return self.obs(), 1.0, True, False
        if self.pos in self.pits:
            return self.obs(), -1.0, True, False
        return self.obs(), -0.02, False, self.t >= 40


class Replay:
    def __init__(self, cap):
        self.buf = deque(maxlen=cap)

    def push(self, *tr):
        self.buf.append(tr)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.buf, n))
        return torch.stack(s), torch.tensor(a), torch.tensor(r), torch.stack(s2), torch.tensor(d, dtype=torch.float32)


def greedy_return(q, episodes=1):
    env, tot = Grid(), 0.0
    for _ in range(episodes):
        s, done = env.reset(), False
        while not done:
            with torch.no_grad():
                a = q(s).argmax().item()
            s, r, term, trunc = env.step(a)
            done = term or trunc
            tot += r
    return tot / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=6000)
    ap.add_argument("--gamma", type=float, default=0.95)
    ap.add_argument("--sync", type=int, default=200)
    ap.add_argument("--lr", type=float, default=1e-3)
    a = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    q = nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 4))
    target = nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 4))
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=a.lr)
    env, mem = Grid(), Replay(4000)
    s = env.reset()
    for step in range(a.steps):
        eps = max(0.1, 1 - step / 3000)
        if random.random() < eps:
            act = random.randrange(4)
        else:
            with torch.no_grad():
                act = q(s).argmax().item()
        s2, r, term, trunc = env.step(act)
        mem.push(s, act, r, s2, term)
        s = env.reset() if term or trunc else s2
        if step >= 300:
            bs, ba, br, bs2, bd = mem.sample(64)
            with torch.no_grad():
                best = q(bs2).argmax(1, keepdim=True)
                y = br + a.gamma * (1 - bd) * target(bs2).gather(1, best).squeeze(1)
            loss = F.smooth_l1_loss(q(bs).gather(1, ba[:, None]).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if step % a.sync == 0:
            target.load_state_dict(q.state_dict())
        if step % 500 == 499:
            print(f"step {step + 1} eps {eps:.2f} td loss {loss.item():.5f} greedy return {greedy_return(q):.2f}")


if __name__ == "__main__":
    main()
