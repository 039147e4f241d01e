import random
from collections import deque
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

# Double DQN, CartPole, soft target updates
SEED = 4
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))

    def forward(self, x):
        return self.net(x)


class Buffer:
    def __init__(self, size=20000):
        self.o, self.o2 = np.zeros((size, 4), "float32"), np.zeros((size, 4), "float32")
        self.a, self.r, self.d = np.zeros(size, "int64"), np.zeros(size, "float32"), np.zeros(size, "float32")
        self.n, self.size = 0, size

    def add(self, o, a, r, o2, d):
        i = self.n % self.size
        self.o[i], self.a[i], self.r[i], self.o2[i], self.d[i] = o, a, r, o2, d
        self.n += 1

    def sample(self, k):
        i = np.random.randint(0, min(self.n, self.size), k)
        return [torch.from_numpy(x[i]) for x in (self.o, self.a, self.r, self.o2, self.d)]


def evaluate(q, episodes=10):
    env, rets = gym.make("CartPole-v1"), []
    for e in range(episodes):
        o, _ = env.reset(seed=1000 + e)
        done, ret = False, 0.0
        while not done:
            with torch.no_grad():
                a = int(q(torch.from_numpy(o)).argmax())
            o, r, term, trunc, _ = env.step(a)
            ret += r
            done = term or trunc
        rets.append(ret)
    return np.mean(rets)


env = gym.make("CartPole-v1")
q, target = QNet(), QNet()
target.load_state_dict(q.state_dict())
target.requires_grad_(False)
opt = torch.optim.Adam(q.parameters(), lr=5e-4)
buf, recent, GAMMA, TOTAL = Buffer(), deque(maxlen=20), 0.99, 24000
o, _ = env.reset(seed=SEED)
ret = 0.0
for step in range(1, TOTAL + 1):
    for g in opt.param_groups:
        g["lr"] = 5e-4 * (1 - step / TOTAL) + 1e-5
    eps = max(0.03, 1.0 - step / 6000)
    if random.random() < eps:
        a = random.randrange(2)
    else:
        with torch.no_grad():
            a = int(q(torch.from_numpy(o)).argmax())
    o2, r, term, trunc, _ = env.step(a)
    buf.add(o, a, r, o2, float(term))            # a time limit is no terminal state
    ret += r
    o = o2
    if term or trunc:
        recent.append(ret)
        ret = 0.0
        o, _ = env.reset()
    if step > 1000 and step % 2 == 0:
        bo, ba, br, bo2, bd = buf.sample(128)
        with torch.no_grad():
            best = q(bo2).argmax(1, keepdim=True)
            y = br + GAMMA * (1 - bd) * target(bo2).gather(1, best).squeeze(1)
        qa = q(bo).gather(1, ba[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(qa, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), 10.0)
        opt.step()
        with torch.no_grad():
            for pt, p in zip(target.parameters(), q.parameters()):
                pt.lerp_(p, 0.01)
    if step % 2000 == 0:
        print(f"step {step} eps {eps:.2f} return {np.mean(recent):.1f} "
              f"loss {loss.item() if step > 1000 else float('nan'):.3f} mean q {qa.mean().item() if step > 1000 else 0:.1f}")
print("greedy policy over 10 episodes:", evaluate(q))
