"""Physics-informed network for the 1-D heat equation u_t = k u_xx on [0,1]x[0,1]."""
import argparse
import math
import torch
import torch.nn as nn

K = 0.1


def exact(x, t):
    return torch.exp(-K * math.pi ** 2 * t) * torch.sin(math.pi * x)


class PINN(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        layers, d = [], 2
        for _ in range(depth):
            layers += [nn.Linear(d, width), nn.Tanh()]
            d = width
        layers.append(nn.Linear(d, 1))
        self.net = nn.Sequential(*layers)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x, t):
        return self.net(torch.cat([2 * x - 1, 2 * t - 1], 1))


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(model, x, t):
    u = model(x, t)
    u_t, u_x = grad(u, t), grad(u, x)
    return u_t - K * grad(u_x, x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2500)
    ap.add_argument("--points", type=int, default=128)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--w-init", type=float, default=10.0)
    ap.add_argument("--w-bound", type=float, default=10.0)
    a = ap.parse_args()
    torch.manual_seed(0)
    model = PINN()
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.steps)
    gx, gt = torch.meshgrid(torch.linspace(0, 1, 41), torch.linspace(0, 1, 41), indexing="ij")
    gx, gt = gx.reshape(-1, 1), gt.reshape(-1, 1)
    for step in range(a.steps):
        x = torch.rand(a.points, 1, requires_grad=True)
        t = torch.rand(a.points, 1, requires_grad=True)
        pde = residual(model, x, t).pow(2).mean()
        x0 = torch.rand(64, 1)
        init = (model(x0, torch.zeros_like(x0)) - torch.sin(math.pi * x0)).pow(2).mean()
        tb = torch.rand(64, 1)
        side = torch.randint(0, 2, (64, 1)).float()
        bound = model(side, tb).pow(2).mean()
        loss = pde + a.w_init * init + a.w_bound * bound
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 250 == 0 or step == a.steps - 1:
            with torch.no_grad():
                err = (model(gx, gt) - exact(gx, gt)).norm() / exact(gx, gt).norm()
            print(f"step {step} loss {loss.item():.2e} pde {pde.item():.2e} rel L2 error {err.item():.4f}")


if __name__ == "__main__":
    main()
