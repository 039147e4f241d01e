# Advantage actor-critic on a small "catch the ball" game.  Batch of episodes per update.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)


class Catch:
    """N parallel games, ball falls from row 0 to row H-1, paddle moves left / stay / right."""

    def __init__(self, n, w=7, h=8):
        self.n, self.w, self.h = n, w, h

    def reset(self):
        self.ball_x = np.random.randint(0, self.w, self.n)
        self.pad = np.random.randint(0, self.w, self.n)
        self.row = 0
        return self.obs()

    def obs(self):
        o = np.zeros((self.n, 2 * self.w + self.h), np.float32)
        i = np.arange(self.n)
        o[i, self.ball_x] = 1
        o[i, self.w + self.pad] = 1
        o[:, 2 * self.w + self.row] = 1
        return o

    def step(self, a):
        self.pad = np.clip(self.pad + a - 1, 0, self.w - 1)
        self.row += 1
        done = self.row == self.h - 1
        r = np.zeros(self.n, np.float32)
        if done:
            r = np.where(self.pad == self.ball_x, 1.0, -1.0).astype(np.float32)
        return self.obs(), r, done


class ActorCritic(nn.Module):
    def __init__(self, n_in, n_act):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 64), nn.Tanh())
        self.pi = nn.Linear(64, n_act)
        self.v = nn.Linear(64, 1)

    def forward(self, x):
        h = self.body(x)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


env = Catch(32)
net = ActorCritic(2 * env.w + env.h, 3)
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
GAMMA = 0.97

running = None
for update in range(900):
    obs, done = env.reset(), False
    states, actions, rewards = [], [], []
    while not done:
        s = torch.from_numpy(obs)
        with torch.no_grad():
            dist, _ = net(s)
        a = dist.sample()
        obs, r, done = env.step(a.numpy())
        states.append(s)
        actions.append(a)
        rewards.append(r)

    ret, returns = np.zeros(env.n, np.float32), []
    for r in reversed(rewards):
        ret = r + GAMMA * ret
        returns.insert(0, ret)
    states = torch.cat(states)
    actions = torch.cat(actions)
    returns = torch.from_numpy(np.concatenate(returns)).unsqueeze(1)

    dist, values = net(states)
    adv = returns - values.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    policy_loss = -(dist.log_prob(actions) * adv).mean()
    value_loss = F.smooth_l1_loss(values.view(-1), returns.view(-1))
    loss = policy_loss + 0.5 * value_loss - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()

    score = float(rewards[-1].mean())
    running = score if running is None else 0.95 * running + 0.05 * score
    if update % 100 == 99:
        print(f"update {update + 1} reward {running:+.2f} policy {policy_loss.item():+.4f} "
              f"value {value_loss.item():.4f} entropy {dist.entropy().mean().item():.3f}")

env = Catch(2000)
obs, done = env.reset(), False
while not done:
    with torch.no_grad():
        obs, r, done = env.step(net(torch.from_numpy(obs))[0].probs.argmax(-1).numpy())
print("greedy catch rate:", (r > 0).mean())
