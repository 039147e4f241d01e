"""DQN on a small key-and-door gridworld."""
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 2
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)


class GridEnv:
    """Agent walks on a 5x5 board, must pick up the key before reaching the door."""
    SIZE = 5
    MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]

    def __init__(self):
        self.state = np.zeros(3, dtype=np.float32)   # row, col, has_key

    def reset(self):
        self.state[:] = (random.randint(0, 4), random.randint(0, 4), 0)
        self.t = 0
        return self.state

    def step(self, action):
        dr, dc = self.MOVES[action]
        self.state[0] = np.clip(self.state[0] + dr, 0, self.SIZE - 1)
        self.state[1] = np.clip(self.state[1] + dc, 0, self.SIZE - 1)
        self.t += 1
        reward, done = -0.02, False
        if self.state[2] == 0 and self.state[0] == 0 and self.state[1] == 4:
            self.state[2] = 1
            reward = 0.5
        if self.state[2] == 1 and self.state[0] == 4 and self.state[1] == 0:
            reward, done = 1.0, True
        return self.state, reward, done, self.t >= 40


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, s):
        return self.net(s * torch.tensor([0.25, 0.25, 1.0]) - 0.5)


q, q_target = QNet(), QNet()
q_target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
buffer = deque(maxlen=10000)
GAMMA, BATCH = 0.95, 64


def learn():
    s, a, r, s2, d = zip(*random.sample(buffer, BATCH))
    s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
    a = torch.tensor(a)
    r = torch.tensor(r, dtype=torch.float32)
    d = torch.tensor(d, dtype=torch.float32)
    qsa = q(s).gather(1, a[:, None]).squeeze(1)
    with torch.no_grad():
        tgt = r + GAMMA * (1 - d) * q_target(s2).max(1).values
    loss = F.smooth_l1_loss(qsa, tgt)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


env = GridEnv()
steps, eps, loss = 0, 1.0, 0.0
returns, solved = [], []
while steps < 6000:
    obs = env.reset()
    total, done, trunc = 0.0, False, False
    while not (done or trunc):
        if random.random() < eps:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = q(torch.from_numpy(obs)[None]).argmax(1).item()
        nxt, reward, done, trunc = env.step(action)
        buffer.append((obs, action, reward, nxt, done))
        obs = nxt
        total += reward
        steps += 1
        eps = max(0.05, 1.0 - steps / 3500)
        if len(buffer) > 500 and steps % 2 == 0:
            loss = learn()
        if steps % 300 == 0:
            q_target.load_state_dict(q.state_dict())
        if steps % 1000 == 0 and returns:
            print(f"step {steps} eps {eps:.2f} return {np.mean(returns[-30:]):+.3f} solved {np.mean(solved[-30:]):.2f} loss {loss:.4f}")
    returns.append(total)
    solved.append(done)

print(f"last 50 episodes: return {np.mean(returns[-50:]):+.3f}, solved {np.mean(solved[-50:]):.2f}")
