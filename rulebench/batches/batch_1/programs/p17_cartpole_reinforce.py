# REINFORCE with a learned baseline on CartPole (one update per 4 episodes)
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(11)
np.random.seed(11)
env = gym.make("CartPole-v1", max_episode_steps=300)
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
value = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
op = torch.optim.Adam(policy.parameters(), lr=1e-2)
ov = torch.optim.Adam(value.parameters(), lr=1e-2)
gamma, hist = 0.99, []

for it in range(90):
    S, A, G = [], [], []
    for _ in range(4):
        s, _ = env.reset(seed=1000 + len(hist))
        rew, done = [], False
        while not done:
            st = torch.as_tensor(s, dtype=torch.float32)
            with torch.no_grad():
                a = torch.distributions.Categorical(logits=policy(st)).sample()
            S.append(st)
            A.append(a)
            s, r, term, trunc, _ = env.step(a.item())
            rew.append(r)
            done = term or trunc
        g, ret = 0.0, []
        for r in reversed(rew):
            g = r + gamma * g
            ret.append(g)
        G += ret[::-1]
        hist.append(sum(rew))
    S, A, G = torch.stack(S), torch.stack(A), torch.tensor(G)
    v = value(S).squeeze(-1) * 50
    adv = G - v.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    dist = torch.distributions.Categorical(logits=policy(S))
    loss_p = -(dist.log_prob(A) * adv).mean() - 0.01 * dist.entropy().mean()
    loss_v = ((v - G) ** 2).mean() / 2500
    op.zero_grad(); loss_p.backward(); op.step()
    ov.zero_grad(); loss_v.backward(); ov.step()
    if it % 5 == 0:
        print(f"iter {it:3d} policy loss {loss_p.item():+.4f} value loss {loss_v.item():.4f} return (last 12) {np.mean(hist[-12:]):.1f}")
print("mean return of the last 20 episodes", np.mean(hist[-20:]))
