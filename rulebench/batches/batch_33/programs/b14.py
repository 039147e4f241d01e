# Reptile (Nichol et al. 2018) on 1-D sine regression. The outer update is the interpolation
#   phi <- phi + eps * (phi_k - phi), there is no outer optimizer.
import copy
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
SEED = 3
torch.manual_seed(SEED)
rng = np.random.RandomState(3)

INNER_LR, INNER_STEPS, OUTER_LR, ITERS = 0.02, 5, 0.3, 5000
grid = torch.linspace(-5, 5, 50)[:, None]


def new_task():
    phase, amp = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 3.0)
    return lambda x: torch.sin(x + phase) * amp


net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def sgd_step(x, y):
    net.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        for p in net.parameters():
            p -= INNER_LR * p.grad
    return loss.item()


def adapt_and_score(tasks=30, shots=10, steps=20):
    """mean test error before / after adapting to an unseen wave, weights put back afterwards"""
    saved = copy.deepcopy(net.state_dict())
    before = after = 0.0
    state = rng.get_state()
    rng.seed(999)
    for _ in range(tasks):
        f = new_task()
        x = torch.tensor(rng.uniform(-5, 5, (shots, 1)), dtype=torch.float32)
        net.load_state_dict(saved)
        with torch.no_grad():
            before += ((net(grid) - f(grid)) ** 2).mean().item()
        for _ in range(steps):
            sgd_step(x, f(x))
        with torch.no_grad():
            after += ((net(grid) - f(grid)) ** 2).mean().item()
    net.load_state_dict(saved)
    rng.set_state(state)
    return before / tasks, after / tasks


print("untrained: before %.3f after %.3f" % adapt_and_score())
for it in range(ITERS):
    start = copy.deepcopy(net.state_dict())
    f = new_task()
    order = torch.randperm(50)
    y = f(grid)
    for k in range(INNER_STEPS):
        idx = order[k * 10:(k + 1) * 10]
        loss = sgd_step(grid[idx], y[idx])
    end = net.state_dict()
    eps = OUTER_LR * (1 - it / ITERS)
    net.load_state_dict({k: start[k] + eps * (end[k] - start[k]) for k in start})
    if (it + 1) % 1000 == 0:
        b, a = adapt_and_score()
        print(f"iter {it + 1}  last inner loss {loss:.3f}  error before adapting {b:.3f}  after {a:.3f}")

print("final error on new waves after 20 steps on 10 points: %.4f" % adapt_and_score(100)[1])
