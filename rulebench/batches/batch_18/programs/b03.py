# PINN for a damped oscillator u'' + 0.4 u' + 4 u = 0, u(0)=1, u'(0)=0, compared with the exact solution
import math
import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
t = torch.linspace(0, 5, 80).unsqueeze(1).requires_grad_(True)


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def losses():
    u = net(t)
    du = grad(u, t)
    ddu = grad(du, t)
    pde = (ddu + 0.4 * du + 4 * u).pow(2).mean()
    ic = (u[0] - 1).pow(2).sum() + du[0].pow(2).sum()
    return pde, ic


def exact(s):
    w = math.sqrt(4 - 0.2 ** 2)
    return torch.exp(-0.2 * s) * (torch.cos(w * s) + 0.2 / w * torch.sin(w * s))


opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(600):
    opt.zero_grad()
    pde, ic = losses()
    loss = pde + 20 * ic
    loss.backward()
    opt.step()
    if i % 200 == 199:
        print("adam", i + 1, "pde", pde.item(), "ic", ic.item())

lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, history_size=30, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    pde, ic = losses()
    loss = pde + 20 * ic
    loss.backward()
    return loss


for i in range(20):
    loss = lbfgs.step(closure)
    if i % 5 == 4:
        print("lbfgs", i + 1, "loss", loss.item())

with torch.no_grad():
    err = (net(t) - exact(t)).abs().max().item()
print("max error against exact solution:", err)
