# DQN on a hand-written cart-pole, 16 copies stepped together (no gym needed).
import numpy as np
import torch
import torch.nn as nn
import copy

torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(0)
N_ENV, MAX_T = 16, 200


class Carts:
    def __init__(self, n):
        self.n = n
        self.s = np.zeros((n, 4)); self.t = np.zeros(n, int)
        self.reset(np.ones(n, bool))

    def reset(self, mask):
        self.s[mask] = rng.uniform(-0.05, 0.05, (mask.sum(), 4))
        self.t[mask] = 0

    def step(self, a):
        x, xd, th, thd = self.s.T
        f = np.where(a == 1, 10.0, -10.0)
        c, s = np.cos(th), np.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c ** 2 / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = np.stack([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha], 1)
        self.t += 1
        fell = (np.abs(self.s[:, 0]) > 2.4) | (np.abs(self.s[:, 2]) > 0.2095)
        return self.s.copy(), np.ones(self.n), fell, self.t >= MAX_T


def make_q():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


q = make_q()
q_target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
CAP = 20000
buf = dict(s=np.zeros((CAP, 4), "f"), a=np.zeros(CAP, int), r=np.zeros(CAP, "f"), s2=np.zeros((CAP, 4), "f"), d=np.zeros(CAP, "f"))
ptr = size = 0
gamma = 0.98


def act(states, eps):
    with torch.no_grad():
        a = q(torch.as_tensor(states, dtype=torch.float32)).argmax(1).numpy()
    rand = rng.random(len(a)) < eps
    return np.where(rand, rng.integers(0, 2, len(a)), a)


def evaluate(n=20):
    e = Carts(n)
    alive, length = np.ones(n, bool), np.zeros(n)
    for _ in range(MAX_T):
        _, _, fell, _ = e.step(act(e.s, 0.0))
        length += alive
        alive &= ~fell
    return length.mean()


env = Carts(N_ENV)
for it in range(1, 4001):
    eps = max(0.05, 1 - it / 1200)
    s = env.s.copy()
    a = act(s, eps)
    s2, r, fell, timeout = env.step(a)
    i = (ptr + np.arange(N_ENV)) % CAP
    buf["s"][i], buf["a"][i], buf["r"][i], buf["s2"][i], buf["d"][i] = s, a, r, s2, fell
    ptr, size = (ptr + N_ENV) % CAP, min(size + N_ENV, CAP)
    env.reset(fell | timeout)
    if size < 1000:
        continue
    j = rng.integers(0, size, 128)
    S, A, R, S2, D = (torch.as_tensor(buf[k][j]) for k in ("s", "a", "r", "s2", "d"))
    with torch.no_grad():
        target = R + gamma * q_target(S2).max(1).values
    value = q(S).gather(1, A[:, None]).squeeze(1)
    loss = nn.functional.smooth_l1_loss(value, target)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(q.parameters(), 10.0)
    opt.step()
    if it % 100 == 0:
        q_target.load_state_dict(q.state_dict())
    if it % 500 == 0:
        print(f"iter {it}  loss {loss.item():.4f}  mean Q {value.mean().item():.2f}  eval length {evaluate():.1f}")

print("final mean episode length over 100 episodes: %.1f / %d" % (evaluate(100), MAX_T))
