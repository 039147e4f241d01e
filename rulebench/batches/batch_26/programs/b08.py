"""Reptile on sine waves (Nichol et al. 2018), written from memory in one evening."""
import copy
import math
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(0)
torch.manual_seed(0)
torch.set_num_threads(1)

inner_lr, inner_steps, outer_lr, n_iter = 0.02, 8, 0.3, 2500


def task():
    a, ph = rng.uniform(0.5, 5.0), rng.uniform(0, 2 * math.pi)
    return lambda x: a * torch.sin(x + ph)


net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def adapt(f, x, steps):
    """plain SGD from the current weights, in place"""
    for _ in range(steps):
        loss = (net(x) - f(x)).pow(2).mean()
        net.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= inner_lr * p.grad
    return loss.item()


def evaluate(n=50, shots=10, steps=32):
    before, after = [], []
    saved = copy.deepcopy(net.state_dict())
    grid = torch.linspace(-5, 5, 50)[:, None]
    for _ in range(n):
        f = task()
        x = torch.tensor(rng.uniform(-5, 5, (shots, 1)), dtype=torch.float32)
        before.append((net(grid) - f(grid)).pow(2).mean().item())
        adapt(f, x, steps)
        after.append((net(grid) - f(grid)).pow(2).mean().item())
        net.load_state_dict(saved)
    return np.mean(before), np.mean(after)


for it in range(n_iter):
    f = task()
    x = torch.tensor(rng.uniform(-5, 5, (20, 1)), dtype=torch.float32)
    old = copy.deepcopy(net.state_dict())
    last = adapt(f, x, inner_steps)
    new = net.state_dict()
    eps = outer_lr * (1 - it / n_iter)
    net.load_state_dict({k: old[k] + eps * (new[k] - old[k]) for k in old})
    if it % 500 == 499:
        b, a = evaluate()
        print(f"iter {it + 1}: inner loss {last:.3f}; new tasks mse {b:.3f} -> {a:.3f} after 32 steps")

b, a = evaluate(200)
print(f"200 new tasks, 10 points each: mse before {b:.3f}, after adaptation {a:.3f}")
