"""Physics-informed network for  -u'' = pi^2 sin(pi x), u(0)=u(1)=0."""
import math
import torch
import torch.nn as nn

torch.manual_seed(2)
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
x_in = torch.linspace(0, 1, 60).reshape(-1, 1).requires_grad_(True)
x_bc = torch.tensor([[0.0], [1.0]])
source = (math.pi ** 2) * torch.sin(math.pi * x_in.detach())

opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=5, history_size=30, line_search_fn="strong_wolfe")


def residual():
    u = net(x_in)
    du, = torch.autograd.grad(u.sum(), x_in, create_graph=True)
    d2u, = torch.autograd.grad(du.sum(), x_in, create_graph=True)
    return -d2u - source


def closure():
    opt.zero_grad()
    loss = residual().pow(2).mean() + 20.0 * net(x_bc).pow(2).sum()
    loss.backward()
    return loss


x_test = torch.rand(500, 1)
for it in range(60):
    loss = opt.step(closure)
    if it % 10 == 0 or it == 59:
        with torch.no_grad():
            err = (net(x_test) - torch.sin(math.pi * x_test)).abs().max()
        print(f"iter {it:4d} loss {loss.item():.3e} max error {err.item():.2e}")
