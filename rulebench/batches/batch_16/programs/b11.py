"""MAML on sinusoid regression with functional_call."""
import argparse
import math
import torch
from torch import nn
from torch.func import functional_call


def sample_task():
    amp = 0.5 + 2.5 * torch.rand(1)
    phase = math.pi * torch.rand(1)

    def draw(n):
        x = 10 * torch.rand(n, 1) - 5
        return x, amp * torch.sin(x + phase)
    return draw


class Net(nn.Module):
    def __init__(self, h=40):
        super().__init__()
        self.l = nn.Sequential(nn.Linear(1, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.l(x)


def adapt(model, params, x, y, lr, steps, create_graph):
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(model, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def evaluate(model, args, n=100):
    before = after = 0.0
    for _ in range(n):
        draw = sample_task()
        xs, ys = draw(args.shots)
        xq, yq = draw(100)
        params = dict(model.named_parameters())
        before += nn.functional.mse_loss(model(xq), yq).item()
        params = adapt(model, params, xs, ys, args.inner_lr, 5, False)
        with torch.no_grad():
            after += nn.functional.mse_loss(functional_call(model, params, (xq,)), yq).item()
    return before / n, after / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=600)
    ap.add_argument("--meta-batch", type=int, default=4)
    ap.add_argument("--shots", type=int, default=10)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    for it in range(1, args.iters + 1):
        opt.zero_grad()
        total = 0.0
        for _ in range(args.meta_batch):
            draw = sample_task()
            xs, ys = draw(args.shots)
            xq, yq = draw(args.shots)
            fast = adapt(model, dict(model.named_parameters()), xs, ys, args.inner_lr, 1, True)
            loss = nn.functional.mse_loss(functional_call(model, fast, (xq,)), yq) / args.meta_batch
            loss.backward()
            total += loss.item()
        opt.step()
        if it % 150 == 0:
            b, a = evaluate(model, args)
            print(f"iter {it} meta loss {total:.3f} before adaptation {b:.3f} after {a:.3f}")


if __name__ == "__main__":
    main()
