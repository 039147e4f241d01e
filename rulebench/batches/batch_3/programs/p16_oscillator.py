"""Physics-informed network for the damped oscillator u'' + 2 d u' + w0^2 u = 0, u(0)=1, u'(0)=0.
No labelled data at all: the loss is the residual of the equation. Full batch, first Adam, then L-BFGS."""
import argparse
import math

import torch
from torch import nn

SEED = 8


class Net(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, t):
        # hard constraint: u(0)=1 and u'(0)=0 hold by construction
        return 1.0 + t ** 2 * self.body(2 * t - 1)


def residual(net, t, d, w0):
    u = net(t)
    ut = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    utt = torch.autograd.grad(ut.sum(), t, create_graph=True)[0]
    return utt + 2 * d * ut + w0 ** 2 * u


def exact(t, d, w0):
    w = math.sqrt(w0 ** 2 - d ** 2)
    return torch.exp(-d * t) * (torch.cos(w * t) + d / w * torch.sin(w * t))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--d", type=float, default=1.5)
    p.add_argument("--w0", type=float, default=8.0)
    p.add_argument("--adam", type=int, default=900)
    p.add_argument("--lbfgs", type=int, default=30)
    a = p.parse_args()
    torch.manual_seed(SEED)

    net = Net()
    t = torch.linspace(0, 1, 200).view(-1, 1).requires_grad_(True)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for i in range(a.adam):
        opt.zero_grad()
        loss = residual(net, t, a.d, a.w0).pow(2).mean() / a.w0 ** 2
        loss.backward()
        opt.step()
        if i % 100 == 0:
            print(f"adam {i:4d} loss {loss.item():.4e}")

    opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, history_size=50,
                            line_search_fn="strong_wolfe")

    def closure():
        opt.zero_grad()
        l = residual(net, t, a.d, a.w0).pow(2).mean() / a.w0 ** 2
        l.backward()
        return l

    for i in range(a.lbfgs):
        loss = opt.step(closure)
        if i % 10 == 0:
            print(f"lbfgs {i:3d} loss {loss.item():.4e}")

    with torch.no_grad():
        err = (net(t) - exact(t, a.d, a.w0)).abs().max().item()
    print("largest error against the exact solution:", err)


if __name__ == "__main__":
    main()
