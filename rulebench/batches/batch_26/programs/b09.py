"""WGAN (weight clipping) that learns a 1-d mixture; the original recipe of Arjovsky et al."""
import numpy as np
import torch
from torch import nn

torch.manual_seed(1)
np.random.seed(1)
torch.set_num_threads(1)

CLIP = 0.05
N_CRITIC = 5


def real(n):
    comp = np.random.choice(3, n, p=[0.5, 0.3, 0.2])
    mu = np.array([-2.0, 0.5, 2.5])[comp]
    sd = np.array([0.3, 0.2, 0.5])[comp]
    return torch.tensor(mu + sd * np.random.randn(n), dtype=torch.float32)[:, None]


def w1(a, b):
    return (a.sort(0).values - b.sort(0).values).abs().mean().item()


class Net(nn.Sequential):
    def __init__(self, i, h):
        super().__init__(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))


gen, critic = Net(4, 64), Net(1, 64)
# momentum makes the critic unstable, hence RMSprop for both
og = torch.optim.RMSprop(gen.parameters(), lr=2e-4)
oc = torch.optim.RMSprop(critic.parameters(), lr=5e-4)

print("W1 before", round(w1(gen(torch.randn(5000, 4)).detach(), real(5000)), 4))
for it in range(2000):
    for _ in range(N_CRITIC):
        x = real(128)
        with torch.no_grad():
            f = gen(torch.randn(128, 4))
        lc = critic(f).mean() - critic(x).mean()
        oc.zero_grad()
        lc.backward()
        oc.step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-CLIP, CLIP)

    lg = -critic(gen(torch.randn(128, 4))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    if it % 200 == 199:
        with torch.no_grad():
            d = w1(gen(torch.randn(5000, 4)), real(5000))
        print(f"{it + 1}: critic {lc.item():+.5f} gen {lg.item():+.5f} W1 {d:.3f}")

with torch.no_grad():
    print("final W1 distance:", round(w1(gen(torch.randn(20000, 4)), real(20000)), 4))
