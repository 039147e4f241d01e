# Physics-informed network for u'' + u = 0-type oscillator with damping:  u'' + 2*xi*u' + w^2 u = 0, u(0)=1, u'(0)=0
# No measurements anywhere: the loss is the residual of the equation plus the initial conditions.
import math
import torch
from torch import nn

SEED = 2
torch.manual_seed(SEED)
torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)
xi, w = 0.3, 3.0


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, t):
        return self.f(t / 2 - 1)


net = PINN()


def derivs(t):
    t = t.requires_grad_(True)
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    ddu = torch.autograd.grad(du, t, torch.ones_like(du), create_graph=True)[0]
    return u, du, ddu


def loss_fn(t):
    u, du, ddu = derivs(t)
    res = ddu + 2 * xi * du + w ** 2 * u
    u0, du0, _ = derivs(torch.zeros(1, 1))
    return 0.01 * res.pow(2).mean() + (u0 - 1).pow(2).sum() + 0.1 * du0.pow(2).sum()


# phase 1: Adam on freshly drawn collocation points
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for it in range(1, 2501):
    opt.zero_grad()
    l = loss_fn(4 * torch.rand(64, 1))
    l.backward()
    opt.step()
    if it % 500 == 0:
        print("adam", it, "%.3e" % l.item())

# phase 2: L-BFGS on a fixed grid
grid = torch.linspace(0, 4, 128)[:, None]
opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=50, history_size=30, line_search_fn="strong_wolfe")
for r in range(10):
    def closure():
        opt.zero_grad()
        l = loss_fn(grid.clone())
        l.backward()
        return l
    print("lbfgs", r, "%.3e" % opt.step(closure).item())

t = torch.linspace(0, 4, 400)[:, None]
wd = math.sqrt(w ** 2 - xi ** 2)
exact = torch.exp(-xi * t) * (torch.cos(wd * t) + xi / wd * torch.sin(wd * t))
with torch.no_grad():
    print("relative L2 error against the exact solution: %.2e" % ((net(t) - exact).norm() / exact.norm()).item())
