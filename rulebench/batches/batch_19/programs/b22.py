"""DQN on a small windy grid with a goal and two pits."""
import random
from collections import deque
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class WindyGrid:
    size = 5
    moves = [(-1, 0), (1, 0), (0, -1), (0, 1)]
    pits = {(1, 1), (3, 2)}
    goal = (4, 4)

    def reset(self):
        self.pos = (0, 0)
        self.t = 0
        return self.obs()

    def obs(self):
        v = np.zeros(2 * self.size, dtype=np.float32)
        v[self.pos[0]] = 1
        v[self.size + self.pos[1]] = 1
        return v

    def step(self, a):
        if random.random() < 0.1:
            a = random.randrange(4)
        dr, dc = self.moves[a]
        r = min(max(self.pos[0] + dr, 0), self.size - 1)
        c = min(max(self.pos[1] + dc, 0), self.size - 1)
        self.pos = (r, c)
        self.t += 1
        if self.pos == self.goal:
            return self.obs(), 10.0, True, False
        if self.pos in self.pits:
            return self.obs(), -5.0, True, False
        return self.obs(), -0.1, False, self.t >= 40


def qnet():
    return nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 4))


env = WindyGrid()
policy_net, target_net = qnet(), qnet()
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.Adam(policy_net.parameters(), lr=2e-3)
memory = deque(maxlen=5000)
GAMMA, BATCH, SYNC = 0.95, 32, 100
steps = updates = 0
losses, rewards = [], []

for episode in range(220):
    s, total, over = env.reset(), 0.0, False
    while not over:
        eps = max(0.05, 1.0 - steps / 1500)
        if random.random() < eps:
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = policy_net(torch.from_numpy(s)).argmax().item()
        s2, r, terminated, truncated = env.step(a)
        memory.append((s, a, r, s2, float(terminated)))
        s, over = s2, terminated or truncated
        total += r
        steps += 1
        if len(memory) >= 200:
            batch = random.sample(memory, BATCH)
            S, A, R, S2, D = map(np.array, zip(*batch))
            S, S2 = torch.from_numpy(S), torch.from_numpy(S2)
            R = torch.tensor(R, dtype=torch.float32)
            D = torch.tensor(D, dtype=torch.float32)
            q = policy_net(S).gather(1, torch.from_numpy(A).unsqueeze(1)).squeeze(1)
            with torch.no_grad():
                target = R + GAMMA * (1 - D) * target_net(S2).max(1).values
            loss = F.smooth_l1_loss(q, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            updates += 1
            if updates % SYNC == 0:
                target_net.load_state_dict(policy_net.state_dict())
    rewards.append(total)
    if (episode + 1) % 20 == 0:
        print(f"episode {episode + 1} reward {np.mean(rewards[-20:]):.2f} "
              f"loss {np.mean(losses[-200:]) if losses else 0:.4f} eps {eps:.2f}")

print("updates", updates, "mean reward of the last 40 episodes", np.mean(rewards[-40:]))
