# DQN on a vectorised cart-pole (own numpy version, 16 copies).
import copy
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0); np.random.seed(0); torch.set_num_threads(1)


class CartPoles:
    def __init__(self, n, limit=200):
        self.n, self.limit = n, limit
        self.s = np.random.uniform(-.05, .05, (n, 4)); self.t = np.zeros(n, int)

    def step(self, a):
        x, xd, th, thd = self.s.T
        f = np.where(a == 1, 10., -10.)
        c, s = np.cos(th), np.sin(th)
        tmp = (f + .05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (.5 * (4 / 3 - .1 * c ** 2 / 1.1))
        xa = tmp - .05 * tha * c / 1.1
        nxt = np.stack([x + .02 * xd, xd + .02 * xa, th + .02 * thd, thd + .02 * tha], 1)
        self.t += 1
        fell = (np.abs(nxt[:, 0]) > 2.4) | (np.abs(nxt[:, 2]) > .2095)
        over = self.t >= self.limit
        obs = nxt.copy()
        end = fell | over
        lengths = self.t[end].copy()
        nxt[end] = np.random.uniform(-.05, .05, (end.sum(), 4)); self.t[end] = 0
        self.s = nxt
        return obs, np.ones(self.n), fell, lengths


N, CAP, GAMMA = 16, 20000, 0.99
env = CartPoles(N)
buf = dict(s=np.zeros((CAP, 4), 'f'), a=np.zeros(CAP, int), r=np.zeros(CAP, 'f'), s2=np.zeros((CAP, 4), 'f'), d=np.zeros(CAP, 'f'))
ptr = size = 0
q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
tgt = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
recent = []

for it in range(1, 5001):
    eps = max(.05, 1 - it / 1500)
    s = env.s.copy()
    with torch.no_grad():
        a = q(torch.tensor(s, dtype=torch.float32)).argmax(1).numpy()
    a = np.where(np.random.rand(N) < eps, np.random.randint(0, 2, N), a)
    s2, r, d, lens = env.step(a)
    recent += lens.tolist()
    k = (ptr + np.arange(N)) % CAP
    for name, val in zip("s a r s2 d".split(), (s, a, r, s2, d)):
        buf[name][k] = val
    ptr, size = (ptr + N) % CAP, min(size + N, CAP)
    if size < 1000:
        continue
    i = np.random.randint(0, size, 64)
    bs, ba, br, bs2, bd = (torch.as_tensor(buf[n][i]) for n in ("s", "a", "r", "s2", "d"))
    with torch.no_grad():
        target = br + GAMMA * tgt(bs2).max(1).values
    loss = nn.functional.smooth_l1_loss(q(bs).gather(1, ba[:, None]).squeeze(1), target)
    opt.zero_grad(); loss.backward(); opt.step()
    if it % 100 == 0:
        tgt.load_state_dict(q.state_dict())
    if it % 500 == 0:
        print(f"it {it} eps {eps:.2f} loss {loss.item():.4f} meanQ {target.mean():.2f} ep length {np.mean(recent[-100:]):.1f}")

# greedy evaluation, 50 episodes
ev = CartPoles(50)
alive, length = np.ones(50, bool), np.zeros(50)
for _ in range(200):
    with torch.no_grad():
        act = q(torch.tensor(ev.s, dtype=torch.float32)).argmax(1).numpy()
    fell = ev.step(act)[2]
    length += alive
    alive &= ~fell
print("greedy episode length:", round(float(length.mean()), 1), "of 200")
