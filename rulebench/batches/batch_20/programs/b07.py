"""DQN on a small navigation task (own environment)."""
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


class Navigation:
    """Agent in a 10 x 10 field walks to the goal; a step costs 0.02, the goal pays 1."""
    MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]], dtype=np.float32)

    def __init__(self, size=10, max_steps=40):
        self.size, self.max_steps = size, max_steps

    def reset(self):
        self.state = np.zeros(4, dtype=np.float32)
        self.state[:2] = np.random.randint(0, self.size, 2)
        self.state[2:] = np.random.randint(0, self.size, 2)
        self.t = 0
        return self.state

    def step(self, action):
        self.t += 1
        self.state[:2] += self.MOVES[action]
        np.clip(self.state[:2], 0, self.size - 1, out=self.state[:2])
        terminated = bool((self.state[:2] == self.state[2:]).all())
        reward = 1.0 if terminated else -0.02
        return self.state, reward, terminated, self.t >= self.max_steps


class ReplayBuffer:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.memory, n))
        return (torch.tensor(np.array(s)), torch.tensor(a), torch.tensor(r),
                torch.tensor(np.array(s2)), torch.tensor(d, dtype=torch.float32))

    def __len__(self):
        return len(self.memory)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                 nn.Linear(64, 4))

    def forward(self, x):
        return self.net(x / 10.0)


env = Navigation()
q, target = QNet(), QNet()
target.load_state_dict(q.state_dict())
optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
buffer = ReplayBuffer(20000)
gamma, batch_size = 0.95, 64
steps, wins, losses = 0, deque(maxlen=50), deque(maxlen=200)

for episode in range(1, 261):
    state = env.reset()
    eps = max(0.05, 1.0 - episode / 130)
    while True:
        if random.random() < eps:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = q(torch.tensor(state)).argmax().item()
        next_state, reward, terminated, truncated = env.step(action)
        buffer.push(state, action, reward, next_state, terminated)
        state = next_state
        steps += 1

        if len(buffer) > 500 and steps % 3 == 0:
            s, a, r, s2, d = buffer.sample(batch_size)
            with torch.no_grad():
                y = r + gamma * (1 - d) * target(s2).max(1).values
            pred = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
            loss = F.smooth_l1_loss(pred, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if steps % 300 == 0:
            target.load_state_dict(q.state_dict())
        if terminated or truncated:
            break
    wins.append(float(terminated))
    if episode % 20 == 0:
        print(f"episode {episode}  eps {eps:.2f}  loss {np.mean(losses):.5f}  "
              f"success (last 50) {np.mean(wins):.2f}")

success = 0
for _ in range(100):
    s = env.reset()
    done = False
    while not done:
        with torch.no_grad():
            a = q(torch.tensor(s)).argmax().item()
        s, r, term, trunc = env.step(a)
        done = term or trunc
    success += term
print(f"greedy success rate {success / 100:.2f}")
