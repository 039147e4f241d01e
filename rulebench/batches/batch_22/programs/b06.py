import collections
import random

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

lr = 1e-3
gamma = 0.98
buffer_limit = 20000
batch_size = 32
SEED = 0

random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)


class ReplayBuffer:
    def __init__(self):
        self.buffer = collections.deque(maxlen=buffer_limit)

    def put(self, transition):
        self.buffer.append(transition)

    def sample(self, n):
        s, a, r, s2, alive = zip(*random.sample(self.buffer, n))
        return (torch.tensor(np.array(s)), torch.tensor(a)[:, None], torch.tensor(r, dtype=torch.float)[:, None],
                torch.tensor(np.array(s2)), torch.tensor(alive)[:, None])

    def __len__(self):
        return len(self.buffer)


class Qnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 128)
        self.fc2 = nn.Linear(128, 128)
        self.fc3 = nn.Linear(128, 2)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))

    def act(self, obs, epsilon):
        if random.random() < epsilon:
            return random.randint(0, 1)
        with torch.no_grad():
            return self(torch.from_numpy(obs)).argmax().item()


def train(q, q_target, memory, optimizer):
    s, a, r, s2, alive = memory.sample(batch_size)
    with torch.no_grad():
        best = q(s2).argmax(1, keepdim=True)
        target = r + gamma * alive * q_target(s2).gather(1, best)
    loss = F.smooth_l1_loss(q(s).gather(1, a), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for pt, p in zip(q_target.parameters(), q.parameters()):
            pt.lerp_(p, 0.01)
    return loss.item()


env = gym.make("CartPole-v1", max_episode_steps=200)
q, q_target = Qnet(), Qnet()
q_target.load_state_dict(q.state_dict())
memory = ReplayBuffer()
optimizer = torch.optim.Adam(q.parameters(), lr=lr)

scores, losses, step = [], [], 0
for episode in range(160):
    eps = max(0.02, 0.5 - 0.5 * episode / 80)
    s, _ = env.reset(seed=SEED + episode)
    score, over = 0.0, False
    while not over:
        a = q.act(s, eps)
        s2, r, terminated, truncated, _ = env.step(a)
        memory.put((s, a, r, s2, 0.0 if terminated else 1.0))
        s, score, over = s2, score + r, terminated or truncated
        step += 1
        if len(memory) > 500 and step % 2 == 0:
            losses.append(train(q, q_target, memory, optimizer))
    scores.append(score)
    if (episode + 1) % 20 == 0:
        print(f"episode {episode + 1}, score {np.mean(scores[-20:]):.1f}, loss {np.mean(losses[-500:] or [0]):.4f}, eps {eps:.2f}")
    if len(scores) >= 20 and np.mean(scores[-20:]) >= 195:
        print("solved after", episode + 1, "episodes")
        break

res = []
for k in range(10):
    s, _ = env.reset(seed=9000 + k)
    total, over = 0, False
    while not over:
        s, r, term, trunc, _ = env.step(q.act(s, 0.0))
        total, over = total + r, term or trunc
    res.append(total)
print("test score", np.mean(res))
