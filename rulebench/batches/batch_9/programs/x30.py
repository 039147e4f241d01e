import numpy as np
import torch
import torch.nn as nn
import gymnasium as gym

torch.manual_seed(303)
env = gym.make("CartPole-v1")
actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 2))
critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
oa = torch.optim.Adam(actor.parameters(), lr=5e-3)
oc = torch.optim.Adam(critic.parameters(), lr=1e-2)
scores = []
for ep in range(250):
    s, _ = env.reset(seed=1000 + ep)
    S, A, R, end = [], [], [], False
    while not end and len(R) < 200:
        x = torch.as_tensor(s, dtype=torch.float32)
        with torch.no_grad():
            a = torch.distributions.Categorical(logits=actor(x)).sample()
        s, r, term, trunc, _ = env.step(a.item())
        S.append(x); A.append(a); R.append(r)
        end = term or trunc
    G, g = [], 0.0
    for r in R[::-1]:
        g = r + 0.99 * g
        G.append(g)
    G = torch.tensor(G[::-1])
    S, A = torch.stack(S), torch.stack(A)
    V = critic(S).squeeze(-1)
    adv = G - V.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    dist = torch.distributions.Categorical(logits=actor(S))
    la = -(dist.log_prob(A) * adv).mean() - 0.01 * dist.entropy().mean()
    oa.zero_grad(); la.backward(); oa.step()
    lc = ((V - G) ** 2).mean()
    oc.zero_grad(); lc.backward(); oc.step()
    scores.append(len(R))
    if ep % 25 == 24:
        print("episode", ep + 1, "mean score", np.mean(scores[-25:]))
