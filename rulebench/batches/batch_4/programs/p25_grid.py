"""Advantage actor critic on a small slippery grid, many grids in parallel."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 2
np.random.seed(SEED)
torch.manual_seed(SEED)

SIZE, ENVS, N_STEPS, GAMMA = 5, 16, 8, 0.97
GOAL, PITS = (4, 4), {(1, 3), (3, 1)}
MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class Grids:
    def __init__(self, n):
        self.pos = [(0, 0)] * n
        self.t = [0] * n
        self.score = [0.0] * n
        self.finished = []

    def observe(self):
        obs = np.zeros((len(self.pos), SIZE * SIZE), dtype=np.float32)
        for i, (r, c) in enumerate(self.pos):
            obs[i, r * SIZE + c] = 1
        return torch.from_numpy(obs)

    def step(self, actions):
        rewards, dones = [], []
        for i, a in enumerate(actions):
            if np.random.rand() < 0.1:                 # slippery
                a = np.random.randint(4)
            r, c = self.pos[i]
            r = min(max(r + MOVES[a][0], 0), SIZE - 1)
            c = min(max(c + MOVES[a][1], 0), SIZE - 1)
            self.t[i] += 1
            reward, done = -0.01, False
            if (r, c) == GOAL:
                reward, done = 1.0, True
            elif (r, c) in PITS:
                reward, done = -0.3, True
            elif self.t[i] >= 60:
                done = True
            self.pos[i] = (r, c)
            self.score[i] += reward
            if done:
                self.finished.append(self.score[i])
                self.pos[i], self.t[i], self.score[i] = (0, 0), 0, 0.0
            rewards.append(reward)
            dones.append(float(done))
        return torch.tensor(rewards), torch.tensor(dones)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SIZE * SIZE, 64), nn.Tanh())
        self.pi = nn.Linear(64, 4)
        self.v = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


net, envs = ActorCritic(), Grids(ENVS)
opt = torch.optim.RMSprop(net.parameters(), lr=5e-3, alpha=0.99, eps=1e-5)

for update in range(1, 1201):
    logps, values, rewards, masks, entropies = [], [], [], [], []
    for _ in range(N_STEPS):
        dist, value = net(envs.observe())
        action = dist.sample()
        reward, done = envs.step(action.tolist())
        logps.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(reward)
        masks.append(1 - done)
    with torch.no_grad():
        ret = net(envs.observe())[1]
    returns = []
    for r, m in zip(reversed(rewards), reversed(masks)):
        ret = r + GAMMA * m * ret
        returns.insert(0, ret)
    returns, values = torch.stack(returns), torch.stack(values)
    adv = returns - values
    policy_loss = -(torch.stack(logps) * adv.detach()).mean()
    loss = policy_loss + 0.5 * adv.pow(2).mean() - 0.01 * torch.stack(entropies).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    if update % 150 == 0:
        print("update %4d  loss %+.4f  entropy %.2f  score of the last 100 games %+.3f" % (
            update, loss.item(), entropies[-1].mean().item(), np.mean(envs.finished[-100:])))

print("mean score of the last 500 games: %+.3f" % np.mean(envs.finished[-500:]))
