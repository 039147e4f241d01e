"""Double DQN on a small grid with a pit."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import torch
import keras
from keras import layers

SIZE, GOAL, PIT = 5, (4, 4), (2, 2)
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]


class Grid:
    def __init__(self, rng, limit=40):
        self.rng, self.limit = rng, limit

    def obs(self):
        v = np.zeros(SIZE * SIZE, "float32")
        v[self.pos[0] * SIZE + self.pos[1]] = 1
        return v

    def reset(self, pos=(0, 0)):
        self.pos, self.t = pos, 0
        return self.obs()

    def step(self, a):
        dr, dc = MOVES[a]
        self.pos = (min(max(self.pos[0] + dr, 0), SIZE - 1), min(max(self.pos[1] + dc, 0), SIZE - 1))
        self.t += 1
        if self.pos == GOAL:
            return self.obs(), 1.0, True, False
        if self.pos == PIT:
            return self.obs(), -1.0, True, False
        return self.obs(), -0.02, False, self.t >= self.limit


class Memory:
    def __init__(self, size, rng):
        self.size, self.rng, self.data = size, rng, []

    def push(self, item):
        self.data.append(item)
        if len(self.data) > self.size:
            self.data.pop(0)

    def sample(self, n):
        rows = [self.data[i] for i in self.rng.integers(0, len(self.data), n)]
        s, a, r, s2, end = map(np.array, zip(*rows))
        return (torch.tensor(s), torch.tensor(a)[:, None], torch.tensor(r, dtype=torch.float32),
                torch.tensor(s2), torch.tensor(end, dtype=torch.float32))


def q_net():
    return keras.Sequential([layers.Input((SIZE * SIZE,)), layers.Dense(64, activation="relu"), layers.Dense(4)])


def learn(net, target, opt, batch, gamma):
    s, a, r, s2, end = batch
    with torch.no_grad():
        best = net(s2).argmax(1, keepdim=True)
        y = r + gamma * (1 - end) * target(s2).gather(1, best)[:, 0]
    q = net(s).gather(1, a)[:, 0]
    loss = torch.nn.functional.smooth_l1_loss(q, y)
    net.zero_grad()
    loss.backward()
    ws = net.trainable_weights
    with torch.no_grad():
        opt.apply([w.value.grad for w in ws], ws)
    return float(loss)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=5000)
    ap.add_argument("--gamma", type=float, default=0.95)
    ap.add_argument("--sync", type=int, default=200)
    args = ap.parse_args()
    keras.utils.set_random_seed(40)
    rng = np.random.default_rng(40)

    env, memory = Grid(rng), Memory(5000, rng)
    net, target = q_net(), q_net()
    target.set_weights(net.get_weights())
    opt = keras.optimizers.Adam(2e-3)
    opt.build(net.trainable_weights)

    s, total, returns = env.reset(), 0.0, []
    for k in range(args.steps):
        eps = max(0.05, 1 - k / (0.5 * args.steps))
        if rng.random() < eps:
            a = int(rng.integers(4))
        else:
            with torch.no_grad():
                a = int(net(s[None]).argmax())
        s2, r, end, cut = env.step(a)
        memory.push((s, a, r, s2, end))
        total, s = total + r, s2
        if end or cut:
            returns.append(total)
            s, total = env.reset(), 0.0
        if k >= 200 and k % 2 == 0:
            loss = learn(net, target, opt, memory.sample(32), args.gamma)
        if k % args.sync == 0:
            target.set_weights(net.get_weights())
        if k % 1000 == 999:
            print(f"step {k + 1}  loss {loss:.5f}  return of the last 20: {np.mean(returns[-20:]):+.3f}")

    s, total, n = env.reset(), 0.0, 0
    while True:
        with torch.no_grad():
            s, r, end, cut = env.step(int(net(s[None]).argmax()))
        total, n = total + r, n + 1
        if end or cut:
            break
    print(f"greedy run: {n} moves, return {total:+.2f} (best possible 8 moves, +0.86)")


if __name__ == "__main__":
    main()
