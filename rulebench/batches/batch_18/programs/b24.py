"""Double DQN on a small grid with a pit, replay memory and a target network."""
import argparse
import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn

MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Grid:
    size, goal, pits, limit = 5, (4, 4), {(1, 3), (2, 1), (3, 3)}, 40

    def reset(self):
        self.p, self.t = (0, 0), 0
        return self.obs()

    def obs(self):
        o = np.zeros(25, dtype=np.float32)
        o[self.p[0] * 5 + self.p[1]] = 1.0
        return o

    def step(self, a):
        self.t += 1
        r = min(4, max(0, self.p[0] + MOVES[a][0]))
        c = min(4, max(0, self.p[1] + MOVES[a][1]))
        self.p = (r, c)
        if self.p == self.goal:
            return self.obs(), 1.0, True, False
        if self.p in self.pits:
            return self.obs(), -1.0, True, False
        return self.obs(), -0.01, False, self.t >= self.limit


def qnet():
    return nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 4))


def batch_from(memory, n):
    s, a, r, s2, d = zip(*random.sample(memory, n))
    return (torch.tensor(np.array(s)), torch.tensor(a), torch.tensor(r, dtype=torch.float32),
            torch.tensor(np.array(s2)), torch.tensor(d, dtype=torch.float32))


def greedy_return(q):
    env = Grid()
    s, total = env.reset(), 0.0
    while True:
        with torch.no_grad():
            a = q(torch.from_numpy(s)).argmax().item()
        s, r, term, trunc = env.step(a)
        total += r
        if term or trunc:
            return total, env.t


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=400)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--batch", type=int, default=64)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    q = qnet()
    target = copy.deepcopy(q)
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    memory, env, updates = deque(maxlen=5000), Grid(), 0
    for ep in range(args.episodes):
        eps = max(0.05, 1.0 - ep / 200)
        s = env.reset()
        while True:
            if random.random() < eps:
                a = random.randrange(4)
            else:
                with torch.no_grad():
                    a = q(torch.from_numpy(s)).argmax().item()
            s2, r, term, trunc = env.step(a)
            memory.append((s, a, r, s2, float(term)))
            s = s2
            if len(memory) >= 300:
                bs, ba, br, bs2, bd = batch_from(memory, args.batch)
                with torch.no_grad():
                    best = q(bs2).argmax(1, keepdim=True)
                    goal = br + args.gamma * (1 - bd) * target(bs2).gather(1, best).squeeze(1)
                pred = q(bs).gather(1, ba[:, None]).squeeze(1)
                loss = nn.functional.smooth_l1_loss(pred, goal)
                opt.zero_grad()
                loss.backward()
                opt.step()
                updates += 1
                if updates % 100 == 0:
                    target.load_state_dict(q.state_dict())
            if term or trunc:
                break
        if (ep + 1) % 50 == 0:
            g, n = greedy_return(q)
            print(f"episode {ep + 1} updates {updates} loss {loss.item():.4f} greedy return {g:.2f} in {n} steps")


if __name__ == "__main__":
    main()
