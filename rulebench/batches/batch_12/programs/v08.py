import argparse
import numpy as np
import torch
from torch import nn

# heat equation u_t = alpha u_xx on [0,1]x[0,1], u(0,t)=u(1,t)=0, u(x,0)=sin(pi x)


class PINN(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))


def grad(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


def residual(model, x, t, alpha):
    x.requires_grad_(True)
    t.requires_grad_(True)
    u = model(x, t)
    u_t = grad(u, t)
    u_x = grad(u, x)
    u_xx = grad(u_x, t)
    return u_t - alpha * u_xx


def exact(x, t, alpha):
    return torch.exp(-alpha * np.pi ** 2 * t) * torch.sin(np.pi * x)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--alpha", type=float, default=0.2)
    p.add_argument("--iters", type=int, default=2500)
    p.add_argument("--lr", type=float, default=3e-3)
    args = p.parse_args()
    torch.manual_seed(0)
    model = PINN()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.iters)
    for it in range(args.iters):
        xc, tc = torch.rand(256, 1), torch.rand(256, 1)
        f = residual(model, xc, tc, args.alpha)
        xi = torch.rand(64, 1)
        ui = model(xi, torch.zeros_like(xi))
        tb = torch.rand(64, 1)
        ub0, ub1 = model(torch.zeros_like(tb), tb), model(torch.ones_like(tb), tb)
        l_pde = (f ** 2).mean()
        l_ic = ((ui - torch.sin(np.pi * xi)) ** 2).mean()
        l_bc = (ub0 ** 2).mean() + (ub1 ** 2).mean()
        loss = l_pde + 10 * l_ic + 10 * l_bc
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % 250 == 0:
            print(f"{it} pde {l_pde.item():.2e} ic {l_ic.item():.2e} bc {l_bc.item():.2e}")
    g = torch.linspace(0, 1, 41)
    X, T = torch.meshgrid(g, g, indexing="ij")
    X, T = X.reshape(-1, 1), T.reshape(-1, 1)
    with torch.no_grad():
        u, v = model(X, T), exact(X, T, args.alpha)
    print("relative L2 error", ((u - v).norm() / v.norm()).item())


if __name__ == "__main__":
    main()
