"""DQN on a home-made cart-pole (no gym here)."""
import math, random
from collections import deque
import numpy as np
import torch
import torch.nn as nn

SEED = 3
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)


class CartPole:
    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4); self.t = 0
        return self.s.astype("float32")

    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a == 1 else -10.0
        tmp = (f + 0.05 * w * w * math.sin(th)) / 1.1
        tha = (9.8 * math.sin(th) - math.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * math.cos(th) ** 2 / 1.1))
        xa = tmp - 0.05 * tha * math.cos(th) / 1.1
        self.s = np.array([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * tha]); self.t += 1
        done = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.2095
        return self.s.astype("float32"), 1.0, done, self.t >= 200


def qnet():
    return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))


GAMMA, BATCH, STEPS = 0.98, 64, 9000
policy, target = qnet(), qnet()
target.load_state_dict(policy.state_dict())
opt = torch.optim.Adam(policy.parameters(), lr=1e-3)
memory = deque(maxlen=10000)
env = CartPole()


def learn():
    batch = random.sample(memory, BATCH)
    s, a, r, s2, d = (torch.tensor(np.array(z)) for z in zip(*batch))
    q = policy(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        best = target(s2).max(1).values
        y = r.float() + GAMMA * best
    loss = nn.functional.smooth_l1_loss(q, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item(), q.mean().item()


def greedy(n=10):
    rets = []
    for _ in range(n):
        e = CartPole(); s, total = e.reset(), 0
        while True:
            with torch.no_grad():
                a = policy(torch.from_numpy(s)).argmax().item()
            s, r, d, trunc = e.step(a); total += r
            if d or trunc:
                break
        rets.append(total)
    return float(np.mean(rets))


s, ep_ret, returns = env.reset(), 0, []
for t in range(STEPS):
    eps = max(0.05, 1 - t / 3000)
    if random.random() < eps:
        a = random.randrange(2)
    else:
        with torch.no_grad():
            a = policy(torch.from_numpy(s)).argmax().item()
    s2, r, done, trunc = env.step(a)
    memory.append((s, a, r, s2, done))
    s, ep_ret = s2, ep_ret + r
    if done or trunc:
        returns.append(ep_ret); s, ep_ret = env.reset(), 0
    if t > 500:
        loss, q = learn()
    if t % 200 == 0:
        target.load_state_dict(policy.state_dict())
    if t % 1000 == 999:
        print(f"step {t+1} episodes {len(returns)} mean return(20) {np.mean(returns[-20:]):.1f} loss {loss:.4f} mean Q {q:.2f}")
print("greedy return over 10 episodes (max 200): %.1f" % greedy())
