# DQN, cart pole written out in numpy so that the script has no dependencies besides torch
import math, random
from collections import deque
import numpy as np
import torch
import torch.nn as nn

SEED = 0
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)
torch.set_num_threads(1)


class CartPole:
    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4); self.t = 0
        return self.s.astype(np.float32)

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha])
        self.t += 1
        fell = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 12 * math.pi / 180
        return self.s.astype(np.float32), 1.0, fell, self.t >= 300


def qnet():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


policy, target = qnet(), qnet()
target.load_state_dict(policy.state_dict())
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
memory = deque(maxlen=20000)
gamma, batch, eps = 0.98, 64, 1.0
env = CartPole()
returns, qs, total = [], [], 0

for episode in range(100000):
    s, ret, done = env.reset(), 0, False
    while not done:
        if random.random() < eps:
            a = random.randrange(2)
        else:
            with torch.no_grad():
                a = int(policy(torch.from_numpy(s)).argmax())
        s2, r, fell, timeout = env.step(a)
        done = fell or timeout
        memory.append((s, a, r, s2, fell))
        s, ret, total = s2, ret + r, total + 1
        eps = max(0.05, 1 - total / 4000)
        if len(memory) >= 500 and total % 2 == 0:
            bs, ba, br, bs2, bd = zip(*random.sample(memory, batch))
            bs, bs2 = torch.from_numpy(np.stack(bs)), torch.from_numpy(np.stack(bs2))
            ba, br = torch.tensor(ba), torch.tensor(br)
            q = policy(bs).gather(1, ba[:, None]).squeeze(1)
            with torch.no_grad():
                tgt = br + gamma * target(bs2).max(1).values
            loss = nn.functional.smooth_l1_loss(q, tgt)
            opt.zero_grad()
            loss.backward()
            opt.step()
            qs.append(q.mean().item())
        if total % 300 == 0:
            target.load_state_dict(policy.state_dict())
    returns.append(ret)
    if (episode + 1) % 40 == 0:
        print(f"ep {episode+1} steps {total} eps {eps:.2f} return(20) {np.mean(returns[-20:]):.1f} Q {np.mean(qs[-200:]) if qs else 0:.1f}")
    if total > 13000:
        break

evals = []
for _ in range(20):
    s, ret, done = env.reset(), 0, False
    while not done:
        with torch.no_grad():
            s, r, fell, to = env.step(int(policy(torch.from_numpy(s)).argmax()))
        done = fell or to
        ret += r
    evals.append(ret)
print("greedy return, mean of 20 episodes: %.1f (max 300)" % np.mean(evals))
