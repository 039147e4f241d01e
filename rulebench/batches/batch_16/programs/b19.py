# PINN for the 1D Poisson problem  u''(x) = f(x) on [0, 1],  u(0) = u(1) = 0
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


def exact(x):
    return torch.sin(math.pi * x) + 0.3 * torch.sin(3 * math.pi * x)


def f(x):
    return -math.pi ** 2 * (torch.sin(math.pi * x) + 2.7 * torch.sin(3 * math.pi * x))


net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 2500)
x_bc = torch.tensor([[0.0], [1.0]])
x_test = torch.linspace(0, 1, 200).view(-1, 1)

for i in range(2500):
    x = torch.rand(64, 1, requires_grad=True)
    u = net(x)
    ux = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    uxx = torch.autograd.grad(ux, x, torch.ones_like(ux), retain_graph=True)[0]
    loss_pde = ((uxx - f(x)) ** 2).mean()
    loss_bc = (net(x_bc) ** 2).mean()
    loss = 0.01 * loss_pde + 10 * loss_bc
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if (i + 1) % 500 == 0:
        with torch.no_grad():
            err = (net(x_test) - exact(x_test)).pow(2).mean().sqrt().item()
        print(f"{i + 1} pde {loss_pde.item():.4f} bc {loss_bc.item():.2e} rmse to exact {err:.4f}")
