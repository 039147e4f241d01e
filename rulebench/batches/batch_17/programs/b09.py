"""Physics-informed network for a damped oscillator: u'' + 2 d u' + w^2 u = 0, u(0)=1, u'(0)=0."""
import argparse
import math
import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self, width=32, depth=3, t_max=2.0):
        super().__init__()
        self.t_max = t_max
        layers, i = [], 1
        for _ in range(depth):
            layers += [nn.Linear(i, width), nn.Tanh()]
            i = width
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, t):
        # the initial conditions are built in: u = 1 + t^2 * N(t)
        return 1.0 + t ** 2 * self.net(2 * t / self.t_max - 1)


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


def residual(model, t, d, w):
    u = model(t)
    du = derivative(u, t)
    ddu = derivative(du, t)
    return ddu + 2 * d * du + w ** 2 * u


def exact(t, d, w):
    wd = math.sqrt(w ** 2 - d ** 2)
    return torch.exp(-d * t) * (torch.cos(wd * t) + d / wd * torch.sin(wd * t))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=4000)
    p.add_argument("--points", type=int, default=64)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--damping", type=float, default=0.8)
    p.add_argument("--omega", type=float, default=4.0)
    args = p.parse_args()
    torch.manual_seed(0)
    model = PINN()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.999)
    grid = torch.linspace(0, model.t_max, 200).unsqueeze(1)
    for it in range(1, args.iters + 1):
        t = (torch.rand(args.points, 1) * model.t_max).requires_grad_(True)
        r = residual(model, t, args.damping, args.omega) / args.omega ** 2
        loss = r.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % 400 == 0:
            with torch.no_grad():
                err = (model(grid) - exact(grid, args.damping, args.omega)).abs().max().item()
            print(f"iter {it} residual {loss.item():.3e} max error {err:.4f}")


if __name__ == "__main__":
    main()
