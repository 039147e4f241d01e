# Reptile on sine regression tasks. Every meta step trains on one task, then puts the
# weights back and moves them a little towards what was found.
import copy
import numpy as np
import torch
import torch.nn as nn

SEED = 0
torch.manual_seed(SEED)
rng = np.random.RandomState(SEED)


def gen_task():
    phase, amp = rng.uniform(0, 2 * np.pi), rng.uniform(0.5, 2)
    return lambda x: amp * np.sin(x + phase)


net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
x_all = np.linspace(-5, 5, 50)[:, None]
INNER_LR, INNER_STEPS, META_ITERS, OUTER_LR = 0.02, 8, 3000, 0.2


def train_on(model, x, y):
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    model.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= INNER_LR * p.grad
    return loss.item()


def few_shot_error(model, n_tasks=60, steps=32):
    state = rng.get_state()
    rng.seed(999)
    errs = []
    for _ in range(n_tasks):
        m, f = copy.deepcopy(model), gen_task()
        x = x_all[rng.choice(50, 10, replace=False)]
        for _ in range(steps):
            train_on(m, x, f(x))
        with torch.no_grad():
            pred = m(torch.tensor(x_all, dtype=torch.float32)).numpy()
        errs.append(((pred - f(x_all)) ** 2).mean())
    rng.set_state(state)
    return float(np.mean(errs))


print("10-shot error before meta-training: %.4f" % few_shot_error(net))
for it in range(META_ITERS):
    before = copy.deepcopy(net.state_dict())
    f = gen_task()
    y_all = f(x_all)
    for s in range(INNER_STEPS):
        idx = rng.choice(50, 10, replace=False)
        loss = train_on(net, x_all[idx], y_all[idx])
    after = net.state_dict()
    step = OUTER_LR * (1 - it / META_ITERS)
    net.load_state_dict({k: before[k] + (after[k] - before[k]) * step for k in before})
    if (it + 1) % 500 == 0:
        print("iter %d inner loss %.3f few-shot error %.4f" % (it + 1, loss, few_shot_error(net)))
print("10-shot error after meta-training: %.4f" % few_shot_error(net))
