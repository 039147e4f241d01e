"""PPO on CartPole with a handful of environments."""
import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(1)
np.random.seed(1)

N_ENVS = 4
N_STEPS = 128
UPDATES = 60
GAMMA, LAM = 0.99, 0.95
REWARD_SCALE = 0.05
EPOCHS, MINIBATCH, CLIP = 4, 128, 0.2
ENT_COEF, VF_COEF = 0.003, 0.5


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                                nn.Linear(64, act))
        self.v = nn.Sequential(nn.Linear(obs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                               nn.Linear(64, 1))

    def forward(self, x):
        return Categorical(logits=self.pi(x)), self.v(x).squeeze(-1)


envs = [gym.make("CartPole-v1") for _ in range(N_ENVS)]
obs = np.stack([e.reset(seed=i)[0] for i, e in enumerate(envs)])
net = ActorCritic(4, 2)
opt = torch.optim.Adam(net.parameters(), lr=2.5e-3, eps=1e-5)
sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.05, total_iters=UPDATES)
running = np.zeros(N_ENVS)
finished = []

for update in range(1, UPDATES + 1):
    S, A, R, D, V, LP = [], [], [], [], [], []
    for _ in range(N_STEPS):
        x = torch.as_tensor(obs, dtype=torch.float32)
        with torch.no_grad():
            dist, v = net(x)
            a = dist.sample()
        nxt, rew, done = [], np.zeros(N_ENVS), np.zeros(N_ENVS)
        for i, e in enumerate(envs):
            o, r, term, trunc, _ = e.step(a[i].item())
            running[i] += r
            r *= REWARD_SCALE
            if trunc and not term:
                with torch.no_grad():
                    r += GAMMA * net(torch.as_tensor(o)[None])[1].item()
            if term or trunc:
                finished.append(running[i])
                running[i] = 0
                o, _ = e.reset()
                done[i] = 1.0
            rew[i] = r
            nxt.append(o)
        S.append(x); A.append(a); V.append(v); LP.append(dist.log_prob(a))
        R.append(torch.as_tensor(rew, dtype=torch.float32))
        D.append(torch.as_tensor(done, dtype=torch.float32))
        obs = np.stack(nxt)
    with torch.no_grad():
        last = net(torch.as_tensor(obs, dtype=torch.float32))[1]
    adv, gae = [None] * N_STEPS, torch.zeros(N_ENVS)
    for t in reversed(range(N_STEPS)):
        nv = last if t == N_STEPS - 1 else V[t + 1]
        delta = R[t] + GAMMA * nv * (1 - D[t]) - V[t]
        gae = delta + GAMMA * LAM * (1 - D[t]) * gae
        adv[t] = gae
    S, A = torch.cat(S), torch.cat(A)
    adv, old_v = torch.cat(adv), torch.cat(V)
    ret = adv + old_v
    old_logp = torch.cat(LP)
    for _ in range(EPOCHS):
        for mb in torch.randperm(len(S)).split(MINIBATCH):
            dist, v = net(S[mb])
            a_hat = adv[mb]
            a_hat = (a_hat - a_hat.mean()) / (a_hat.std() + 1e-8)
            ratio = (dist.log_prob(A[mb]) - old_logp[mb]).exp()
            pg = -torch.min(ratio * a_hat, ratio.clamp(1 - CLIP, 1 + CLIP) * a_hat).mean()
            vf = (ret[mb] - v).pow(2).mean()
            ent = dist.entropy().mean()
            loss = pg + VF_COEF * vf - ENT_COEF * ent
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            opt.step()
    sched.step()
    if update % 5 == 0:
        print(f"update {update}  return {np.mean(finished[-20:]):.1f}  pg {pg.item():.3f}  "
              f"vf {vf.item():.4f}  entropy {ent.item():.3f}")
