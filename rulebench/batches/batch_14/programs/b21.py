"""MAML on sinusoid regression with a functional inner loop."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


def sample_task(g):
    amp = torch.rand(1, generator=g) * 4 + 1
    ph = torch.rand(1, generator=g) * 3.14
    x = torch.rand(20, 1, generator=g) * 10 - 5
    y = amp * torch.sin(x - ph)
    return (x[:10], y[:10]), (x[10:], y[10:])


class Net(nn.Module):
    def __init__(self, h=40):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.f(x)


def adapt(net, params, support, inner_lr, steps, create_graph):
    x, y = support
    for _ in range(steps):
        loss = F.mse_loss(functional_call(net, params, (x,)), y)
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=create_graph)
        params = {k: p - inner_lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def evaluate(net, inner_lr, steps, n=100):
    g = torch.Generator().manual_seed(777)
    before = after = 0.0
    for _ in range(n):
        sup, (xq, yq) = sample_task(g)
        start = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
        fast = adapt(net, start, sup, inner_lr, steps, False)
        with torch.no_grad():
            before += F.mse_loss(functional_call(net, start, (xq,)), yq).item()
            after += F.mse_loss(functional_call(net, fast, (xq,)), yq).item()
    return before / n, after / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--meta-steps", type=int, default=1500)
    ap.add_argument("--tasks", type=int, default=4)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--outer-lr", type=float, default=2e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=a.outer_lr)
    for step in range(a.meta_steps):
        meta = 0.0
        for _ in range(a.tasks):
            sup, (xq, yq) = sample_task(g)
            fast = adapt(net, dict(net.named_parameters()), sup, a.inner_lr, 1, True)
            meta = meta + F.mse_loss(functional_call(net, fast, (xq,)), yq)
        meta = meta / a.tasks
        opt.zero_grad()
        meta.backward()
        opt.step()
        if step % 250 == 249:
            b, af = evaluate(net, a.inner_lr, 5)
            print(f"meta step {step + 1} meta loss {meta.item():.3f} eval mse before {b:.3f} after 5 steps {af:.3f}")


if __name__ == "__main__":
    main()
