"""DQN that keeps a ball on a beam."""
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn


class Beam:
    """Ball on a tilting beam, +1 for every step it stays on."""
    LIMIT = 150

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.x, self.v, self.t = self.rng.uniform(-0.3, 0.3), 0.0, 0
        return self.obs()

    def obs(self):
        return np.array([self.x, self.v], dtype=np.float32)

    def step(self, a):
        push = (-0.8, 0.0, 0.8)[a]
        self.v += 0.12 * (self.x + push) + 0.03 * self.rng.standard_normal()
        self.x += 0.12 * self.v
        self.t += 1
        fell = abs(self.x) > 1.0
        return self.obs(), 1.0, fell, self.t >= self.LIMIT


class ReplayBuffer:
    def __init__(self, cap):
        self.buf = deque(maxlen=cap)

    def push(self, *tr):
        self.buf.append(tr)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.buf, n))
        return (torch.tensor(np.array(s)), torch.tensor(a), torch.tensor(r, dtype=torch.float32),
                torch.tensor(np.array(s2)), torch.tensor(d, dtype=torch.float32))

    def __len__(self):
        return len(self.buf)


def build():
    return nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))


def update(q, target, opt, batch, gamma):
    s, a, r, s2, d = batch
    q_sa = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        best = target(s2).max(1).values
        y = r + gamma * best
    loss = nn.functional.smooth_l1_loss(q_sa, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def evaluate(q, seed, n=10):
    env, lengths = Beam(seed), []
    for _ in range(n):
        s, stop = env.reset(), False
        while not stop:
            with torch.no_grad():
                a = q(torch.tensor(s)).argmax().item()
            s, _, fell, timeout = env.step(a)
            stop = fell or timeout
        lengths.append(env.t)
    return float(np.mean(lengths))


def main():
    random.seed(0)
    torch.manual_seed(0)
    env, buf = Beam(0), ReplayBuffer(20000)
    q, target = build(), build()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    gamma, eps, s = 0.97, 1.0, env.reset()
    losses = deque(maxlen=500)
    for step in range(1, 8001):
        if random.random() < eps:
            a = random.randrange(3)
        else:
            with torch.no_grad():
                a = q(torch.tensor(s)).argmax().item()
        s2, r, fell, timeout = env.step(a)
        buf.push(s, a, r, s2, fell)
        s = env.reset() if fell or timeout else s2
        if len(buf) >= 500:
            losses.append(update(q, target, opt, buf.sample(64), gamma))
        if step % 200 == 0:
            target.load_state_dict(q.state_dict())
        eps = max(0.05, eps * 0.9994)
        if step % 1000 == 0:
            print(f"step {step} loss {np.mean(losses):.4f} eval length {evaluate(q, 7):.1f} "
                  f"Q(0,0) {q(torch.zeros(2)).max().item():.2f}")


if __name__ == "__main__":
    main()
