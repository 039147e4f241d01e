# Reptile (Nichol et al. 2018) on the sinusoid family
import copy, math
import torch
from torch import nn

SEED = 0
g = torch.Generator().manual_seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)


def new_task():
    amp = 0.5 + 4.0 * torch.rand(1, generator=g)
    ph = math.pi * torch.rand(1, generator=g)
    return lambda x: amp * torch.sin(x + ph)


net = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))


def inner(model, x, y, steps, lr=0.02):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    first = None
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        first = loss.item() if first is None else first
        opt.zero_grad()
        loss.backward()
        opt.step()
    return first


def few_shot_error(n_tasks=100):
    tot = 0.0
    for _ in range(n_tasks):
        f = new_task()
        m = copy.deepcopy(net)
        x = torch.rand(10, 1, generator=g) * 10 - 5
        inner(m, x, f(x), 32)
        xs = torch.linspace(-5, 5, 100)[:, None]
        with torch.no_grad():
            tot += ((m(xs) - f(xs)) ** 2).mean().item()
    return tot / n_tasks


print("few-shot mse before meta-training: %.3f" % few_shot_error())
META, K = 5000, 8
avg = 0.0
for it in range(META):
    old = [p.detach().clone() for p in net.parameters()]
    f = new_task()
    x = torch.rand(20, 1, generator=g) * 10 - 5
    avg += inner(net, x, f(x), K)
    eps = 0.5 * (1 - it / META)
    with torch.no_grad():        # step back most of the way
        for p, o in zip(net.parameters(), old):
            p.copy_(o + eps * (p - o))
    if (it + 1) % 500 == 0:
        print(f"iter {it + 1}: loss before the inner loop {avg / 500:.3f}")
        avg = 0.0
print("few-shot mse after meta-training: %.3f" % few_shot_error())
