"""MAML on sinusoid regression."""
import argparse
import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class SinusoidTasks:
    def __init__(self, shots, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.shots = shots

    def _u(self, a, b, shape=(1,)):
        return a + (b - a) * torch.rand(shape, generator=self.g)

    def sample(self):
        amp, phase = self._u(0.5, 3.0), self._u(0.0, math.pi)
        def draw(k):
            x = self._u(-5, 5, (k, 1))
            return x, amp * torch.sin(x + phase)
        return draw(self.shots), draw(20)


def build():
    return nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))


def adapt(model, params, x, y, lr, steps, create_graph):
    for _ in range(steps):
        loss = F.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def evaluate(model, args, n_tasks=60):
    tasks = SinusoidTasks(args.shots, 999)
    pre, post = [], []
    for _ in range(n_tasks):
        (xs, ys), (xq, yq) = tasks.sample()
        params = {k: p.detach().clone().requires_grad_(True) for k, p in model.named_parameters()}
        pre.append(F.mse_loss(functional_call(model, params, (xq,)), yq).item())
        fast = adapt(model, params, xs, ys, args.inner_lr, 5, False)
        post.append(F.mse_loss(functional_call(model, fast, (xq,)), yq).item())
    return np.mean(pre), np.mean(post)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=1200)
    p.add_argument("--meta-batch", type=int, default=6)
    p.add_argument("--shots", type=int, default=10)
    p.add_argument("--inner-lr", type=float, default=0.02)
    p.add_argument("--meta-lr", type=float, default=2e-3)
    args = p.parse_args()
    torch.manual_seed(0)
    model = build()
    meta_opt = torch.optim.Adam(model.parameters(), lr=args.meta_lr)
    tasks = SinusoidTasks(args.shots, 0)
    run = []
    for it in range(1, args.iters + 1):
        meta_opt.zero_grad()
        total = 0.0
        for _ in range(args.meta_batch):
            (xs, ys), (xq, yq) = tasks.sample()
            fast = adapt(model, dict(model.named_parameters()), xs, ys, args.inner_lr, 1, True)
            loss = F.mse_loss(functional_call(model, fast, (xq,)), yq) / args.meta_batch
            loss.backward()
            total += loss.item()
        meta_opt.step()
        run.append(total)
        if it % 200 == 0:
            pre, post = evaluate(model, args)
            print(f"iter {it} meta loss {np.mean(run[-200:]):.4f} query mse before {pre:.3f} after adaptation {post:.3f}")


if __name__ == "__main__":
    main()
