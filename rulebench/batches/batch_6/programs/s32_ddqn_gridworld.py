"""Double DQN with a soft target on a slippery grid with wandering hazards."""
import random
import numpy as np
import torch
from torch import nn

random.seed(9); np.random.seed(9); torch.manual_seed(9)
SZ = 5


class Grid:
    def reset(self):
        self.a, self.h, self.t = [0, 0], [2, random.randrange(SZ)], 0
        return self.obs()

    def obs(self):
        o = np.zeros((2, SZ, SZ), np.float32)
        o[0, self.a[0], self.a[1]] = 1
        o[1, self.h[0], self.h[1]] = 1
        return o.ravel()

    def step(self, act):
        if random.random() < 0.1:
            act = random.randrange(4)
        dr, dc = [(-1, 0), (1, 0), (0, -1), (0, 1)][act]
        self.a = [min(SZ - 1, max(0, self.a[0] + dr)), min(SZ - 1, max(0, self.a[1] + dc))]
        self.h[1] = min(SZ - 1, max(0, self.h[1] + random.choice([-1, 0, 1])))
        self.t += 1
        if self.a == self.h:
            return self.obs(), -1.0, True, False
        if self.a == [SZ - 1, SZ - 1]:
            return self.obs(), 1.0, True, False
        return self.obs(), -0.02, False, self.t >= 50


def net(): return nn.Sequential(nn.Linear(50, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 4))
q, qt = net(), net()
qt.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
CAP = 8000
bs, ba, br = np.zeros((CAP, 50), np.float32), np.zeros(CAP, np.int64), np.zeros(CAP, np.float32)
bn, bd = np.zeros((CAP, 50), np.float32), np.zeros(CAP, np.float32)
size = ptr = 0
env, s, ret, hist = Grid(), None, 0.0, []
s = env.reset()
for step in range(8000):
    eps = max(0.05, 1 - step / 3000)
    with torch.no_grad():
        a = random.randrange(4) if random.random() < eps else int(q(torch.from_numpy(s)).argmax())
    s2, r, term, trunc = env.step(a)
    bs[ptr], ba[ptr], br[ptr], bn[ptr], bd[ptr] = s, a, r, s2, term
    ptr, size = (ptr + 1) % CAP, min(size + 1, CAP)
    ret += r
    s = s2
    if term or trunc:
        hist.append(ret)
        ret, s = 0.0, env.reset()
    if size >= 400 and step % 2 == 0:
        i = np.random.randint(0, size, 64)
        S, N_ = torch.from_numpy(bs[i]), torch.from_numpy(bn[i])
        with torch.no_grad():
            best = q(N_).argmax(1, keepdim=True)
            tgt = torch.from_numpy(br[i]) + 0.97 * (1 - torch.from_numpy(bd[i])) * qt(N_).gather(1, best).squeeze(1)
        loss = nn.functional.smooth_l1_loss(q(S).gather(1, torch.from_numpy(ba[i])[:, None]).squeeze(1), tgt)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for p, t in zip(q.parameters(), qt.parameters()):
                t.mul_(0.99).add_(p, alpha=0.01)
    if (step + 1) % 800 == 0:
        print(f"step {step + 1} eps {eps:.2f} episodes {len(hist)} mean return {np.mean(hist[-50:]):.3f}")
