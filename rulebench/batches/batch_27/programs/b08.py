# Reptile on sine waves
import copy
import math
import torch
from torch import nn

SEED = 0
torch.manual_seed(SEED)


def task():
    amp = 0.1 + 4.9 * torch.rand(1)
    phase = 2 * math.pi * torch.rand(1)
    return lambda x: amp * torch.sin(x + phase)


net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
INNER_LR, OUTER_LR, META_ITERS, K = 0.02, 0.1, 5000, 5


def inner(model, f, steps, bs=10, pts=None):
    xs = torch.rand(50, 1) * 10 - 5 if pts is None else pts
    ys = f(xs)
    last = 0.0
    for s in range(steps):
        idx = torch.randperm(len(xs))[:bs]
        loss = ((model(xs[idx]) - ys[idx]) ** 2).mean()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= INNER_LR * p.grad
        last = loss.item()
    return last


def evaluate(model, n=50):
    g = torch.linspace(-5, 5, 50)[:, None]
    before = after = 0.0
    for _ in range(n):
        f = task()
        m = copy.deepcopy(model)
        before += ((m(g) - f(g)) ** 2).mean().item() / n
        inner(m, f, 32, pts=torch.rand(10, 1) * 10 - 5)
        after += ((m(g) - f(g)) ** 2).mean().item() / n
    return before, after


b0, a0 = evaluate(net)
print(f"untrained: mse {b0:.3f} -> after 32 steps on 10 points {a0:.3f}")
avg = 0.0
for it in range(META_ITERS):
    old = {k: v.clone() for k, v in net.state_dict().items()}
    avg += inner(net, task(), K)
    eps = OUTER_LR * (1 - it / META_ITERS)
    new = net.state_dict()
    net.load_state_dict({k: old[k] + eps * (new[k] - old[k]) for k in old})
    if (it + 1) % 500 == 0:
        print(f"meta step {it + 1:5d}  last inner loss (mean of 500) {avg / 500:.3f}")
        avg = 0.0
b1, a1 = evaluate(net)
print(f"meta-trained: mse {b1:.3f} -> after 32 steps on 10 points {a1:.3f}")
