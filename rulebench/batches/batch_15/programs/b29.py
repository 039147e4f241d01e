"""PINN for the ODE u'' + 4 u = 0, u(0)=1, u'(0)=0 (solution cos 2t), Adam warm start then LBFGS, double precision."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
t_col = torch.linspace(0, math.pi, 100).unsqueeze(1).requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))


def d(y, t):
    return torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]


def compute_loss():
    u = net(t_col)
    res = d(d(u, t_col), t_col) + 4 * u
    u0 = net(t0)
    du0 = d(u0, t0)
    return res.pow(2).mean() + 20 * ((u0 - 1) ** 2 + du0 ** 2).squeeze()


adam = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(800):
    adam.zero_grad()
    loss = compute_loss()
    loss.backward()
    adam.step()
    if (i + 1) % 200 == 0:
        print("adam", i + 1, loss.item())

lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, history_size=50, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    l = compute_loss()
    l.backward()
    return l


for i in range(25):
    loss = lbfgs.step(closure)
    if (i + 1) % 5 == 0:
        print("lbfgs", i + 1, loss.item())

with torch.no_grad():
    err = (net(t_col) - torch.cos(2 * t_col)).abs().max().item()
print("max abs error", err)
