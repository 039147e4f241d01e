"""Double DQN with a slowly tracking target on a windy grid."""
import copy
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(3); np.random.seed(3); torch.manual_seed(3)
torch.set_num_threads(1)


class WindyGrid:
    H, W = 5, 7
    wind = [0, 0, 1, 1, 1, 0, 0]
    goal = (2, 5)
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def obs(self):
        o = np.zeros(self.H + self.W, np.float32)
        o[self.pos[0]] = 1
        o[self.H + self.pos[1]] = 1
        return o

    def reset(self):
        self.pos, self.t = (random.randrange(self.H), 0), 0
        return self.obs()

    def step(self, a):
        r, c = self.pos
        up = self.wind[c] if random.random() < 0.6 else 0
        dr, dc = self.moves[a]
        self.pos = (min(max(r + dr - up, 0), self.H - 1), min(max(c + dc, 0), self.W - 1))
        self.t += 1
        done = self.pos == self.goal
        reward = (10.0 if done else -0.5) + np.random.normal(0, 0.5)
        return self.obs(), reward, done, (not done and self.t >= 50)


def make_q():
    return nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


online = make_q()
target = copy.deepcopy(online).requires_grad_(False)
opt = torch.optim.Adam(online.parameters(), lr=1e-3)
buf = deque(maxlen=5000)
env, gamma, steps = WindyGrid(), 0.95, 0
returns, lengths, losses = [], [], []

for ep in range(1, 401):
    s, total = env.reset(), 0.0
    while True:
        eps = max(0.05, 1 - steps / 2500)
        if random.random() < eps:
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = online(torch.from_numpy(s)).argmax().item()
        s2, r, term, trunc = env.step(a)
        buf.append((s, a, r, s2, float(term)))
        s, total, steps = s2, total + r, steps + 1
        if len(buf) >= 500 and steps % 2 == 0:
            S, A, R, S2, D = map(np.array, zip(*random.sample(buf, 64)))
            S, S2 = torch.from_numpy(S), torch.from_numpy(S2)
            A, R, D = torch.from_numpy(A), torch.tensor(R, dtype=torch.float32), torch.tensor(D, dtype=torch.float32)
            q = online(S).gather(1, A[:, None]).squeeze(1)
            with torch.no_grad():
                best = online(S2).argmax(1, keepdim=True)
                tgt = R + gamma * (1 - D) * target(S2).gather(1, best).squeeze(1)
            loss = F.smooth_l1_loss(q, tgt)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(online.parameters(), 10.0)
            opt.step()
            with torch.no_grad():
                for tp, p in zip(target.parameters(), online.parameters()):
                    tp.mul_(0.99).add_(p, alpha=0.01)
            losses.append(loss.item())
        if term or trunc:
            break
    returns.append(total); lengths.append(env.t)
    if ep % 40 == 0:
        print(f"ep {ep} steps {steps} eps {eps:.2f} return(40) {np.mean(returns[-40:]):.2f} "
              f"len {np.mean(lengths[-40:]):.1f} loss {np.mean(losses[-200:]) if losses else float('nan'):.3f}")
