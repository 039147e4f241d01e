"""Actor-critic on CartPole, one update per episode. Returns are noisy and the
printed 'policy loss' means little by itself."""
import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

SEED = 29
np.random.seed(SEED)
torch.manual_seed(SEED)
env = gym.make("CartPole-v1", max_episode_steps=200)


class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


ac = AC()
opt = torch.optim.Adam(ac.parameters(), lr=5e-3)
GAMMA, hist = 0.99, []
for ep in range(300):
    s, _ = env.reset(seed=SEED + ep)
    logp, val, ent, rew = [], [], [], []
    done = False
    while not done:
        dist, v = ac(torch.as_tensor(s))
        a = dist.sample()
        s, r, term, trunc, _ = env.step(a.item())
        done = term or trunc
        logp.append(dist.log_prob(a)); val.append(v); ent.append(dist.entropy()); rew.append(r)
    g = 0.0
    if trunc and not term:                       # time limit, not a failure: bootstrap
        with torch.no_grad():
            g = ac(torch.as_tensor(s))[1].item()
    ret = []
    for r in reversed(rew):
        g = r / 10 + GAMMA * g                   # rewards scaled, so that values stay below 10
        ret.insert(0, g)
    ret, val = torch.tensor(ret), torch.stack(val)
    adv = ret - val.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    pl = -(torch.stack(logp) * adv).mean()
    vl = nn.functional.smooth_l1_loss(val, ret)
    loss = pl + 0.5 * vl - 0.01 * torch.stack(ent).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(ac.parameters(), 0.5)
    opt.step()
    hist.append(sum(rew))
    if ep % 20 == 0:
        print(f"episode {ep} return {np.mean(hist[-20:]):.1f} policy loss {pl.item():+.4f} value loss {vl.item():.4f}")
print("last 20:", np.mean(hist[-20:]))
