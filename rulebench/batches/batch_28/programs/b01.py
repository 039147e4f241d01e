# Reptile on the sine-wave regression toy problem (Nichol et al. 2018)
import random
import numpy as np
import torch
import torch.nn as nn

SEED = 0
random.seed(SEED); np.random.seed(SEED); torch.manual_seed(SEED)

INNER_LR, META_LR, INNER_STEPS, META_ITERS = 0.02, 0.1, 32, 3000
K = 10
grid = torch.linspace(-5, 5, 50)[:, None]


def sample_task():
    phase = np.random.uniform(0, 2 * np.pi)
    amp = np.random.uniform(0.1, 5.0)
    return lambda x: amp * torch.sin(x + phase)


def make_net():
    return nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def inner(net, x, y, n, bs=None):
    opt = torch.optim.SGD(net.parameters(), lr=INNER_LR)
    for _ in range(n):
        idx = torch.randperm(len(x))[:bs] if bs else slice(None)
        loss = ((net(x[idx]) - y[idx]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def adapted_mse(state, n_tasks=40, steps=32):
    rs = np.random.get_state(); np.random.seed(12345)
    tot = 0.0
    for _ in range(n_tasks):
        f = sample_task()
        net = make_net(); net.load_state_dict(state)
        x = torch.tensor(np.random.uniform(-5, 5, (K, 1)), dtype=torch.float32)
        inner(net, x, f(x), steps)
        with torch.no_grad():
            tot += ((net(grid) - f(grid)) ** 2).mean().item()
    np.random.set_state(rs)
    return tot / n_tasks


meta = make_net()
print("mse after adaptation, before meta-training: %.3f" % adapted_mse(meta.state_dict()))
for it in range(META_ITERS):
    before = {k: v.clone() for k, v in meta.state_dict().items()}
    f = sample_task()
    l = inner(meta, grid, f(grid), INNER_STEPS // 4, bs=K)
    after = meta.state_dict()
    frac = META_LR * 5 * (1 - it / META_ITERS)
    meta.load_state_dict({k: before[k] + (after[k] - before[k]) * frac for k in before})
    if it % 500 == 0:
        print(f"iter {it:5d}  inner loss {l:.3f}  adapted mse {adapted_mse(meta.state_dict(), 20):.3f}")
print("mse after adaptation, 40 held-out waves: %.3f" % adapted_mse(meta.state_dict()))
