"""Deep Q-learning on a small grid with a key and a door."""
import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

Transition = namedtuple("Transition", "state action reward next_state done")


class KeyDoorGrid:
    """5x5 grid. Pick up the key (+1), then reach the door (+10); each step costs 0.05."""

    size = 5
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]

    def reset(self):
        self.pos = (2, 0)
        self.has_key = False
        self.t = 0
        return self._obs()

    def _obs(self):
        obs = np.zeros(2 * self.size + 1, dtype=np.float32)
        obs[self.pos[0]] = 1
        obs[self.size + self.pos[1]] = 1
        obs[-1] = self.has_key
        return obs

    def step(self, action):
        dr, dc = self.moves[action]
        self.pos = (min(max(self.pos[0] + dr, 0), 4), min(max(self.pos[1] + dc, 0), 4))
        self.t += 1
        reward, terminated = -0.05, False
        if self.pos == (0, 2) and not self.has_key:
            self.has_key = True
            reward += 1.0
        if self.pos == (4, 4) and self.has_key:
            reward += 10.0
            terminated = True
        return self._obs(), reward, terminated, self.t >= 60


class QNet(nn.Module):
    def __init__(self, n_in=11, n_actions=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, n_actions))

    def forward(self, x):
        return self.layers(x)


env = KeyDoorGrid()
q_net, target_net = QNet(), QNet()
target_net.load_state_dict(q_net.state_dict())
optimizer = torch.optim.Adam(q_net.parameters(), lr=1e-3)
buffer = deque(maxlen=5000)
gamma, batch_size, sync_every = 0.97, 64, 150


def learn():
    batch = Transition(*zip(*random.sample(buffer, batch_size)))
    s = torch.from_numpy(np.stack(batch.state))
    a = torch.tensor(batch.action).unsqueeze(1)
    r = torch.tensor(batch.reward, dtype=torch.float32)
    s2 = torch.from_numpy(np.stack(batch.next_state))
    d = torch.tensor(batch.done, dtype=torch.float32)
    q = q_net(s).gather(1, a).squeeze(1)
    with torch.no_grad():
        best = q_net(s2).argmax(1, keepdim=True)
        target = r + gamma * (1 - d) * target_net(s2).gather(1, best).squeeze(1)
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), q.mean().item()


total_steps, episode, scores, losses, qs = 0, 0, [], [], []
while total_steps < 5000:
    state, score, over = env.reset(), 0.0, False
    episode += 1
    while not over:
        eps = max(0.05, 1.0 - total_steps / 3500)
        if random.random() < eps:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = q_net(torch.from_numpy(state)).argmax().item()
        nxt, reward, terminated, truncated = env.step(action)
        buffer.append(Transition(state, action, reward, nxt, terminated))
        state, score, over = nxt, score + reward, terminated or truncated
        total_steps += 1
        if len(buffer) >= 500 and total_steps % 2 == 0:
            l, qm = learn()
            losses.append(l)
            qs.append(qm)
        if total_steps % sync_every == 0:
            target_net.load_state_dict(q_net.state_dict())
        if total_steps % 1000 == 0:
            print(f"steps {total_steps} eps {eps:.2f} loss {np.mean(losses[-200:]):.4f} mean Q {np.mean(qs[-200:]):.2f} "
                  f"score {np.mean(scores[-20:]):.2f}")
    scores.append(score)

state, score, over = env.reset(), 0.0, False
while not over:
    with torch.no_grad():
        state, r, term, trunc = env.step(q_net(torch.from_numpy(state)).argmax().item())
    score, over = score + r, term or trunc
print(f"greedy episode: score {score:.2f} in {env.t} steps")
