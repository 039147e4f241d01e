# Reptile (Nichol, Achiam, Schulman 2018) on sine waves, after the single-file demo of the paper's blog post
import numpy as np, torch
from torch import nn
from copy import deepcopy

seed = 0
rng = np.random.RandomState(seed)
torch.manual_seed(seed)
torch.set_num_threads(1)

x_all = np.linspace(-5, 5, 50)[:, None]
ntrain = 10
innerstep, innerepochs, outerstep0, niter = 0.02, 1, 0.1, 6000


def gen_task():
    phase, ampl = rng.uniform(0, 2 * np.pi), rng.uniform(0.1, 5)
    return lambda x: np.sin(x + phase) * ampl


model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def totorch(x):
    return torch.tensor(x, dtype=torch.float32)


def train_on_batch(net, x, y):
    net.zero_grad()
    loss = (net(totorch(x)) - totorch(y)).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= innerstep * p.grad
    return loss.item()


def adapt_and_score(net, f, steps=32):
    net = deepcopy(net)
    xs = x_all[rng.choice(50, ntrain, replace=False)]
    for _ in range(steps):
        train_on_batch(net, xs, f(xs))
    with torch.no_grad():
        return float((net(totorch(x_all)) - totorch(f(x_all))).pow(2).mean())


for it in range(niter):
    before = deepcopy(model.state_dict())
    f = gen_task()
    y_all = f(x_all)
    inds = rng.permutation(50)
    for _ in range(innerepochs):
        for s in range(0, 50, ntrain):
            mb = inds[s:s + ntrain]
            last = train_on_batch(model, x_all[mb], y_all[mb])
    after = model.state_dict()
    eps = outerstep0 * (1 - it / niter)
    model.load_state_dict({k: before[k] + (after[k] - before[k]) * eps for k in before})
    if (it + 1) % 1000 == 0:
        print(f"iter {it+1}: inner loss {last:.3f}, after adaptation to fresh waves {np.mean([adapt_and_score(model, gen_task()) for _ in range(10)]):.3f}")

tasks = [gen_task() for _ in range(60)]
scratch = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
a = np.mean([adapt_and_score(model, t) for t in tasks])
b = np.mean([adapt_and_score(scratch, t) for t in tasks])
print(f"mean squared error after 32 steps on 10 points of a new wave: meta-learned {a:.3f}, from scratch {b:.3f}")
