import numpy as np
import gymnasium as gym
import torch
import torch.nn as nn
from torch.distributions import Categorical

# REINFORCE with a learned baseline
torch.manual_seed(204); np.random.seed(204)
env = gym.make("CartPole-v1", max_episode_steps=200)
policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
value = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam([{"params": policy.parameters(), "lr": 5e-3},
                        {"params": value.parameters(), "lr": 1e-2}])
history = []
for update in range(70):
    S, A, R = [], [], []
    for _ in range(4):
        s, _ = env.reset(seed=int(np.random.randint(1 << 30)))
        rew, over = [], False
        while not over:
            with torch.no_grad():
                a = Categorical(logits=policy(torch.as_tensor(s))).sample().item()
            S.append(s); A.append(a)
            s, r, term, trunc, _ = env.step(a)
            rew.append(r)
            over = term or trunc
        g, out = 0.0, []
        for r in reversed(rew):
            g = r + 0.98 * g
            out.append(g)
        R += out[::-1]
        history.append(len(rew))
    S, A, R = torch.as_tensor(np.array(S)), torch.tensor(A), torch.tensor(R, dtype=torch.float32)
    V = value(S).squeeze(-1)
    adv = (R - V).detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    dist = Categorical(logits=policy(S))
    loss = -(dist.log_prob(A) * adv).mean() + 0.5 * ((V - R) ** 2).mean() / 50 - 0.005 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if update % 7 == 6:
        print(f"update {update + 1} mean return {np.mean(history[-28:]):.1f} loss {loss.item():.3f}")
