"""DQN with a target network on a windy grid world."""
import argparse
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class WindyGrid:
    def __init__(self, w=7, h=6, limit=60):
        self.w, self.h, self.limit = w, h, limit
        self.wind = [0, 0, 1, 1, 1, 0, 0]
        self.goal = (w - 2, 2)

    def reset(self):
        self.pos, self.t = (0, random.randrange(self.h)), 0
        return self.obs()

    def obs(self):
        v = np.zeros(self.w + self.h, dtype=np.float32)
        v[self.pos[0]] = 1
        v[self.w + self.pos[1]] = 1
        return v

    def step(self, a):
        x, y = self.pos
        dx, dy = MOVES[a]
        y = y + self.wind[x]
        self.pos = (min(max(x + dx, 0), self.w - 1), min(max(y + dy, 0), self.h - 1))
        self.t += 1
        terminated = self.pos == self.goal
        return self.obs(), (0.0 if terminated else -1.0), terminated, self.t >= self.limit


class Replay:
    def __init__(self, size):
        self.d = deque(maxlen=size)

    def add(self, *x):
        self.d.append(x)

    def batch(self, n):
        s, a, r, s2, term = zip(*random.sample(self.d, n))
        return (torch.tensor(np.array(s)), torch.tensor(a), torch.tensor(r),
                torch.tensor(np.array(s2)), torch.tensor(term, dtype=torch.float32))


def qnet(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_out))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--episodes", type=int, default=350)
    p.add_argument("--gamma", type=float, default=0.97)
    p.add_argument("--tau", type=float, default=0.01)
    p.add_argument("--lr", type=float, default=1e-3)
    args = p.parse_args()
    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    env, buf = WindyGrid(), Replay(10000)
    q, target = qnet(13, 4), qnet(13, 4)
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=args.lr)
    lengths, losses = [], []
    for ep in range(1, args.episodes + 1):
        eps = max(0.05, 1.0 - ep / 150)
        s, steps = env.reset(), 0
        while True:
            if random.random() < eps:
                a = random.randrange(4)
            else:
                with torch.no_grad():
                    a = q(torch.tensor(s)).argmax().item()
            s2, r, term, trunc = env.step(a)
            buf.add(s, a, r, s2, term)
            s, steps = s2, steps + 1
            if len(buf.d) >= 300:
                bs, ba, br, bs2, bt = buf.batch(64)
                with torch.no_grad():
                    nxt = q(bs2).argmax(1, keepdim=True)
                    y = br + args.gamma * (1 - bt) * target(bs2).gather(1, nxt).squeeze(1)
                loss = F.smooth_l1_loss(q(bs).gather(1, ba[:, None]).squeeze(1), y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                losses.append(loss.item())
                with torch.no_grad():
                    for pt, pq in zip(target.parameters(), q.parameters()):
                        pt.lerp_(pq, args.tau)
            if term or trunc:
                break
        lengths.append(steps)
        if ep % 50 == 0:
            print(f"episode {ep} mean length {np.mean(lengths[-50:]):.1f} loss {np.mean(losses[-500:]):.4f} eps {eps:.2f}")


if __name__ == "__main__":
    main()
