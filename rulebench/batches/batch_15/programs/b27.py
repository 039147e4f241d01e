"""Reptile on sine regression (amplitude 0.1-5, phase 0-pi)."""
import argparse
import copy
import math
import torch
import torch.nn as nn


class SineTask:
    def __init__(self, gen):
        self.a = 0.1 + 4.9 * torch.rand((), generator=gen)
        self.p = math.pi * torch.rand((), generator=gen)
        self.gen = gen

    def sample(self, n):
        x = 10 * torch.rand(n, 1, generator=self.gen) - 5
        return x, self(x)

    def __call__(self, x):
        return self.a * torch.sin(x + self.p)


def make_net():
    return nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def inner_train(net, x, y, lr, steps, batch):
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    for s in range(steps):
        b = torch.arange(s * batch, (s + 1) * batch) % len(x)
        loss = (net(x[b]) - y[b]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def evaluate(net, n_tasks, shots, lr, steps, seed):
    gen = torch.Generator().manual_seed(seed)
    grid = torch.linspace(-5, 5, 50).unsqueeze(1)
    before = after = 0.0
    for _ in range(n_tasks):
        task = SineTask(gen)
        clone = copy.deepcopy(net)
        x, y = task.sample(shots)
        with torch.no_grad():
            before += (clone(grid) - task(grid)).pow(2).mean().item()
        inner_train(clone, x, y, lr, steps, shots)
        with torch.no_grad():
            after += (clone(grid) - task(grid)).pow(2).mean().item()
    return before / n_tasks, after / n_tasks


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--meta-iters", type=int, default=4000)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--inner-steps", type=int, default=5)
    ap.add_argument("--meta-lr", type=float, default=0.1)
    args = ap.parse_args()
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(0)
    net = make_net()
    print("start: before/after adaptation %.3f %.3f" % evaluate(net, 50, 10, args.inner_lr, 32, 123))
    for it in range(args.meta_iters):
        fast = copy.deepcopy(net)
        x, y = SineTask(gen).sample(50)
        inner_train(fast, x, y, args.inner_lr, args.inner_steps, 10)
        frac = 1 - it / args.meta_iters
        with torch.no_grad():
            for p, q in zip(net.parameters(), fast.parameters()):
                p += args.meta_lr * frac * (q - p)
        if (it + 1) % 1000 == 0:
            print("iter %d: before/after adaptation %.3f %.3f" % (it + 1, *evaluate(net, 50, 10, args.inner_lr, 32, 123)))


if __name__ == "__main__":
    main()
