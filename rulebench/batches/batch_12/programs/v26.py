import argparse
import copy
import numpy as np
import torch
from torch import nn

# Reptile on sine tasks


def task(rng):
    return rng.uniform(0.5, 3.0), rng.uniform(0, np.pi)


def batch(tsk, n, rng):
    x = rng.uniform(-4, 4, (n, 1)).astype("float32")
    y = tsk[0] * np.sin(x + tsk[1])
    return torch.tensor(x), torch.tensor(y, dtype=torch.float32)


def net():
    return nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))


def adapt(model, x, y, steps, lr):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def evaluate(meta, rng, lr, n=40):
    before, after = [], []
    for _ in range(n):
        t = task(rng)
        xs, ys = batch(t, 10, rng)
        xq, yq = batch(t, 100, rng)
        m = copy.deepcopy(meta)
        with torch.no_grad():
            before.append(((m(xq) - yq) ** 2).mean().item())
        adapt(m, xs, ys, 32, lr)
        with torch.no_grad():
            after.append(((m(xq) - yq) ** 2).mean().item())
    return np.mean(before), np.mean(after)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--meta-iters", type=int, default=2500)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--outer-lr", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    meta = net()
    print("start: query mse before %.3f after %.3f" % evaluate(meta, np.random.default_rng(9), args.inner_lr))
    for it in range(args.meta_iters):
        fast = copy.deepcopy(meta)
        x, y = batch(task(rng), 20, rng)
        adapt(fast, x, y, 6, args.inner_lr)
        eps = args.outer_lr * (1 - it / args.meta_iters)
        with torch.no_grad():
            for p, q in zip(meta.parameters(), fast.parameters()):
                p.add_(eps * (q - p))
        if it % 500 == 499:
            print(it + 1, "query mse before %.3f after %.3f" % evaluate(meta, np.random.default_rng(9), args.inner_lr))


if __name__ == "__main__":
    main()
