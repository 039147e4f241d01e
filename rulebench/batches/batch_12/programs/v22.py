import argparse
import random
from collections import deque
import numpy as np
import torch
from torch import nn


class Corridor:
    """positions 0..L. Left end gives 1 and ends the episode, right end gives 5 and ends it."""

    def __init__(self, length=10):
        self.L = length

    def reset(self):
        self.pos, self.t = random.randint(1, self.L - 1), 0
        return self.obs()

    def obs(self):
        v = np.zeros(self.L + 1, "float32")
        v[self.pos] = 1
        return v

    def step(self, a):
        self.pos += 1 if a == 1 else -1
        self.t += 1
        r, done = -0.02, False
        if self.pos == 0:
            r, done = 1.0, True
        elif self.pos == self.L:
            r, done = 5.0, True
        return self.obs(), r, done, self.t >= 50


class Agent:
    def __init__(self, n_in, lr, gamma):
        mk = lambda: nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 2))
        self.q, self.target = mk(), mk()
        self.target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.gamma = gamma
        self.mem = deque(maxlen=5000)

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(torch.from_numpy(s)).argmax().item()

    def learn(self, bs=64):
        s, a, r, s2, d = zip(*random.sample(self.mem, bs))
        s, s2 = torch.tensor(np.array(s)), torch.tensor(np.array(s2))
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d).float()
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            y = r + self.gamma * self.target(s2).max(1).values
        loss = nn.functional.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), q.mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--episodes", type=int, default=400)
    ap.add_argument("--gamma", type=float, default=0.97)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    random.seed(0); np.random.seed(0); torch.manual_seed(0)
    env = Corridor()
    ag = Agent(env.L + 1, args.lr, args.gamma)
    steps, log = 0, []
    for ep in range(args.episodes):
        s, total = env.reset(), 0.0
        eps = max(0.1, 1 - ep / 200)
        while True:
            a = ag.act(s, eps)
            s2, r, done, trunc = env.step(a)
            ag.mem.append((s, a, r, s2, done))
            s = s2
            total += r
            steps += 1
            if len(ag.mem) > 300:
                loss, qm = ag.learn()
                if steps % 200 == 0:
                    ag.target.load_state_dict(ag.q.state_dict())
            if done or trunc:
                break
        log.append(total)
        if ep % 50 == 49:
            print(f"ep {ep + 1} return {np.mean(log[-50:]):.2f} q {qm:.2f} loss {loss:.4f}")
    with torch.no_grad():
        print("Q table", ag.q(torch.eye(env.L + 1)).max(1).values.numpy().round(2))


if __name__ == "__main__":
    main()
