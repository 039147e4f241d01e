"""REINFORCE on a home-made CartPole, homework 3."""
import math, random
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.set_num_threads(1)
seed = 21
random.seed(seed); np.random.seed(seed); torch.manual_seed(seed)
MAX_T = 200


class CartPole:
    def reset(self):
        self.s = np.random.uniform(-0.05, 0.05, 4); self.t = 0
        return self.s.copy()

    def step(self, a):
        x, xd, th, thd = self.s
        f = 10.0 if a == 1 else -10.0
        c, s = math.cos(th), math.sin(th)
        tmp = (f + 0.05 * thd ** 2 * s) / 1.1
        tha = (9.8 * s - c * tmp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
        xa = tmp - 0.05 * tha * c / 1.1
        self.s = np.array([x + 0.02 * xd, xd + 0.02 * xa, th + 0.02 * thd, thd + 0.02 * tha])
        self.t += 1
        fail = abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.21
        return self.s.copy(), 1.0, fail or self.t >= MAX_T


policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
gamma = 0.98
env = CartPole()


def discounted(rewards):
    G, out = 0.0, []
    for r in reversed(rewards):
        G = r + gamma * G
        out.append(G)
    out = torch.tensor(out)
    return (out - out.mean()) / (out.std() + 1e-8)


def play(greedy=False):
    s, done, logps, rewards = env.reset(), False, [], []
    while not done:
        logits = policy(torch.as_tensor(s, dtype=torch.float32))
        dist = Categorical(logits=logits)
        a = logits.argmax() if greedy else dist.sample()
        s, r, done = env.step(a.item())
        logps.append(dist.log_prob(a)); rewards.append(r)
    return logps, rewards


running = 20.0
for ep in range(300):
    logps, rewards = play()
    R = discounted(rewards)
    loss = -(torch.stack(logps) * R).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = 0.95 * running + 0.05 * len(rewards)
    if ep % 30 == 0:
        print(f"episode {ep:3d}  length {len(rewards):3d}  running {running:6.1f}  loss {loss.item():8.2f}")

with torch.no_grad():
    final = [len(play()[1]) for _ in range(20)]
print("mean episode length over 20 test episodes:", np.mean(final))
