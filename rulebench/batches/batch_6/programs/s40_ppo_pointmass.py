# PPO, continuous actions, vectorised point-mass environment with wind
import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(4); rng = np.random.default_rng(4)
N, H, GAMMA, LAM, CLIP = 16, 64, 0.97, 0.95, 0.2


class VecPoint:
    def reset_idx(self, m):
        self.x[m] = rng.uniform(-2, 2, (m.sum(), 2)); self.v[m] = 0; self.t[m] = 0

    def reset(self):
        self.x, self.v, self.t = np.zeros((N, 2)), np.zeros((N, 2)), np.zeros(N, int)
        self.reset_idx(np.ones(N, bool))
        return self.obs()

    def obs(self): return np.concatenate([self.x, self.v], 1).astype(np.float32)

    def step(self, a):
        a = np.clip(a, -1, 1)
        self.v = 0.9 * self.v + 0.2 * a + rng.normal(0, 0.05, (N, 2))
        self.x = np.clip(self.x + 0.3 * self.v, -4, 4)
        self.t += 1
        d = np.linalg.norm(self.x, axis=1)
        hit = d < 0.2
        r = -0.1 * d + 3.0 * hit
        final = self.obs()
        over = hit | (self.t >= 60)
        if over.any(): self.reset_idx(over)
        return self.obs(), final, r.astype(np.float32), hit, over


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        f = lambda o: nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, o))
        self.mu, self.val = f(2), f(1)
        self.logstd = nn.Parameter(torch.full((2,), -0.3))
        nn.init.orthogonal_(self.mu[-1].weight, 0.01)
    def dist(self, s): return Normal(self.mu(s), self.logstd.exp())


ac, env = AC(), VecPoint()
opt = torch.optim.Adam(ac.parameters(), lr=1e-3, eps=1e-5)
s = torch.from_numpy(env.reset()); ep_ret = np.zeros(N); finished = []
for it in range(35):
    S, A, LP, R, V, VN, DONE = [], [], [], [], [], [], []
    for _ in range(H):
        with torch.no_grad():
            d = ac.dist(s); a = d.sample(); v = ac.val(s).squeeze(1)
            s2, final, r, term, over = env.step(a.numpy())
            vn = ac.val(torch.from_numpy(final)).squeeze(1) * (1 - torch.tensor(term, dtype=torch.float32))
        S.append(s); A.append(a); LP.append(d.log_prob(a).sum(1)); R.append(torch.from_numpy(r)); V.append(v); VN.append(vn)
        DONE.append(torch.tensor(over, dtype=torch.float32))
        ep_ret += r
        for k in np.where(over)[0]: finished.append(ep_ret[k]); ep_ret[k] = 0
        s = torch.from_numpy(s2)
    adv, gae = [None] * H, torch.zeros(N)
    for t in reversed(range(H)):
        gae = R[t] + GAMMA * VN[t] - V[t] + GAMMA * LAM * (1 - DONE[t]) * gae
        adv[t] = gae
    adv = torch.stack(adv); ret = (adv + torch.stack(V)).flatten(); adv = adv.flatten()
    S, A, LP = torch.stack(S).flatten(0, 1), torch.stack(A).flatten(0, 1), torch.stack(LP).flatten()
    for _ in range(6):
        for b in torch.randperm(len(S)).split(256):
            d = ac.dist(S[b]); ratio = (d.log_prob(A[b]).sum(1) - LP[b]).exp()
            a_ = (adv[b] - adv[b].mean()) / (adv[b].std() + 1e-8)
            pi = -torch.min(ratio * a_, ratio.clamp(1 - CLIP, 1 + CLIP) * a_).mean()
            loss = pi + 0.5 * (ac.val(S[b]).squeeze(1) - ret[b]).pow(2).mean() - 0.002 * d.entropy().sum(1).mean()
            opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(ac.parameters(), 0.5); opt.step()
    if it % 3 == 0 or it == 34:
        print(f"iter {it} episodes {len(finished)} mean return {np.mean(finished[-60:]):.3f} std {ac.logstd.exp().mean().item():.3f}")
