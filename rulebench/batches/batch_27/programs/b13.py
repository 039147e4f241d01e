"""DQN on a home-made cart-pole.  Single file, numpy environment, no gym."""
import random
from collections import deque

import numpy as np
import torch
from torch import nn


class CartPole:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.s = self.rng.uniform(-0.05, 0.05, 4)
        self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * w * w * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * tha])
        self.t += 1
        fell = bool(abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095)
        return self.s.astype(np.float32), 1.0, fell, self.t >= 300


def make_net():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


SEED, GAMMA, BATCH = 0, 0.98, 64
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
env = CartPole(SEED)
q, q_target = make_net(), make_net()
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=7e-4)
memory = deque(maxlen=20000)

obs, ret, returns = env.reset(), 0.0, []
for step in range(1, 16001):
    eps = max(0.04, 1.0 - step / 6000)
    if random.random() < eps:
        a = random.randrange(2)
    else:
        with torch.no_grad():
            a = int(q(torch.from_numpy(obs)).argmax())
    nxt, r, fell, timeout = env.step(a)
    memory.append((obs, a, r, nxt, float(fell)))
    obs, ret = nxt, ret + r
    if fell or timeout:
        returns.append(ret)
        obs, ret = env.reset(), 0.0

    if step > 500 and step % 2 == 0:
        s, act, rew, s2, d = zip(*random.sample(memory, BATCH))
        s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
        act, rew, d = torch.tensor(act), torch.tensor(rew), torch.tensor(d)
        with torch.no_grad():
            y = rew + GAMMA * q_target(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(q(s).gather(1, act[:, None]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), 10.0)
        opt.step()
    if step % 400 == 0:
        q_target.load_state_dict(q.state_dict())
    if step % 2000 == 0:
        with torch.no_grad():
            qv = q(torch.from_numpy(np.stack([m[0] for m in list(memory)[-200:]]))).max(1).values.mean()
        print(f"step {step:6d}  mean return (last 10) {np.mean(returns[-10:]):6.1f}  mean Q {qv:6.2f}")

scores = []
for ep in range(20):
    o, total, over = env.reset(), 0.0, False
    while not over:
        with torch.no_grad():
            a = int(q(torch.from_numpy(o)).argmax())
        o, r, fell, timeout = env.step(a)
        total += r
        over = fell or timeout
    scores.append(total)
print("greedy evaluation, mean return of 20 episodes:", np.mean(scores))
