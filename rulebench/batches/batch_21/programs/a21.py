import os
os.environ["KERAS_BACKEND"] = "torch"

import random
from collections import deque

import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(3)

SIZE = 4
GAMMA = 0.95
BATCH = 32
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
TRAPS = {(1, 1), (2, 3)}
GOAL = (SIZE - 1, SIZE - 1)


class Grid:
    def reset(self, start=None):
        free = [(r, c) for r in range(SIZE) for c in range(SIZE) if (r, c) not in TRAPS and (r, c) != GOAL]
        self.pos = start or random.choice(free)
        self.t = 0
        return self.observe()

    def observe(self):
        obs = np.zeros(SIZE * SIZE, "float32")
        obs[self.pos[0] * SIZE + self.pos[1]] = 1.0
        return obs

    def step(self, action):
        dr, dc = MOVES[action]
        self.pos = (min(max(self.pos[0] + dr, 0), SIZE - 1), min(max(self.pos[1] + dc, 0), SIZE - 1))
        self.t += 1
        if self.pos == GOAL:
            return self.observe(), 1.0, True, False
        if self.pos in TRAPS:
            return self.observe(), -1.0, True, False
        return self.observe(), -0.02, False, self.t >= 30


def q_network():
    return keras.Sequential([
        keras.Input((SIZE * SIZE,)),
        layers.Dense(48, activation="relu"),
        layers.Dense(len(MOVES)),
    ])


online, target = q_network(), q_network()
target.set_weights(online.get_weights())
optimizer = torch.optim.Adam(online.parameters(), lr=3e-3)
buffer = deque(maxlen=3000)
env = Grid()
obs = env.reset()
losses, returns, ep_return = [], [], 0.0

for step in range(1, 1801):
    epsilon = max(0.1, 1.0 - step / 1000)
    if random.random() < epsilon:
        action = random.randrange(4)
    else:
        with torch.no_grad():
            action = int(online(torch.from_numpy(obs[None])).argmax())
    nxt, reward, terminated, truncated = env.step(action)
    buffer.append((obs, action, reward, nxt, float(terminated)))
    ep_return += reward
    obs = nxt
    if terminated or truncated:
        returns.append(ep_return)
        ep_return = 0.0
        obs = env.reset()

    if step >= 200 and step % 2 == 0:
        o, a, r, n, d = map(np.array, zip(*random.sample(buffer, BATCH)))
        a = torch.from_numpy(a)
        r, d = torch.from_numpy(r.astype("float32")), torch.from_numpy(d.astype("float32"))
        with torch.no_grad():
            best = online(torch.from_numpy(n)).argmax(1, keepdim=True)
            bootstrap = target(torch.from_numpy(n)).gather(1, best).squeeze(1)
            y = r + GAMMA * (1 - d) * bootstrap
        q = online(torch.from_numpy(o)).gather(1, a[:, None]).squeeze(1)
        loss = torch.nn.functional.smooth_l1_loss(q, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if step % 100 == 0:
        target.set_weights(online.get_weights())
    if step % 300 == 0 and losses:
        print(f"step {step}  eps {epsilon:.2f}  loss {np.mean(losses[-100:]):.4f}  "
              f"return of last 20 episodes {np.mean(returns[-20:]):.3f}")

scores = []
for r in range(SIZE):
    for c in range(SIZE):
        if (r, c) in TRAPS or (r, c) == GOAL:
            continue
        o, total, done = env.reset((r, c)), 0.0, False
        while not done:
            with torch.no_grad():
                o, rew, term, trunc = env.step(int(online(torch.from_numpy(o[None])).argmax()))
            total, done = total + rew, term or trunc
        scores.append(total)
print("greedy return averaged over all start cells:", np.round(np.mean(scores), 3))
