"""Double DQN with soft target updates on a windy corridor."""
import argparse
import copy
import random
from collections import deque
import numpy as np
import torch
from torch import nn


class Corridor:
    """Walk along a 1-D strip to the goal; wind pushes back; pits on the way end the episode."""

    def __init__(self, length=12, limit=50, seed=0):
        self.length, self.limit = length, limit
        self.rng = np.random.default_rng(seed)

    def obs(self):
        o = np.zeros(self.length, dtype=np.float32)
        o[self.pos] = 1
        return o

    def reset(self):
        self.pos, self.t = 2, 0
        return self.obs()

    def step(self, a):
        self.t += 1
        move = (-1, 1, 2)[a]
        if self.rng.random() < 0.15:
            move -= 1
        self.pos = int(np.clip(self.pos + move, 0, self.length - 1))
        if self.pos in (5, 8):
            return self.obs(), -1.0, True, False
        if self.pos == self.length - 1:
            return self.obs(), 1.0, True, False
        return self.obs(), -0.01, False, self.t >= self.limit


def soft_update(target, online, tau):
    with torch.no_grad():
        for t, o in zip(target.parameters(), online.parameters()):
            t.lerp_(o, tau)


def learn(q, target, opt, batch, gamma):
    s, a, r, s2, d = [torch.as_tensor(np.array(v)) for v in zip(*batch)]
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        y = r.float() + gamma * (1 - d.float()) * target(s2).gather(1, best).squeeze(1)
    pred = q(s).gather(1, a.long().unsqueeze(1)).squeeze(1)
    loss = nn.functional.smooth_l1_loss(pred, y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 1.0)
    opt.step()
    return loss.item()


def play(env, q, episodes=100):
    total = 0.0
    for _ in range(episodes):
        s, over = env.reset(), False
        while not over:
            with torch.no_grad():
                a = q(torch.from_numpy(s)).argmax().item()
            s, r, term, trunc = env.step(a)
            total += r
            over = term or trunc
    return total / episodes


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--tau", type=float, default=0.02)
    args = ap.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    env, test_env = Corridor(seed=0), Corridor(seed=1)
    q = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 3))
    target = copy.deepcopy(q).requires_grad_(False)
    opt = torch.optim.Adam(q.parameters(), lr=args.lr)
    buf = deque(maxlen=5000)
    print("untrained score", round(play(test_env, q), 3))
    s = env.reset()
    losses = []
    for step in range(1, args.steps + 1):
        eps = max(0.1, 1 - step / 1500)
        if random.random() < eps:
            a = random.randrange(3)
        else:
            with torch.no_grad():
                a = q(torch.from_numpy(s)).argmax().item()
        s2, r, term, trunc = env.step(a)
        buf.append((s, a, r, s2, term))
        s = env.reset() if term or trunc else s2
        if len(buf) >= 200 and step % 2 == 0:
            losses.append(learn(q, target, opt, random.sample(buf, 64), args.gamma))
            soft_update(target, q, args.tau)
        if step % 1000 == 0:
            print(f"step {step} td loss {np.mean(losses[-200:]):.4f} score {play(test_env, q):.3f}")


if __name__ == "__main__":
    main()
