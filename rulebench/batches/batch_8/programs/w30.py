import torch
import torch.nn as nn

# PINN for the damped oscillator u'' + 0.4 u' + 4 u = 0, u(0)=1, u'(0)=0; Adam, then L-BFGS
torch.manual_seed(207)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
t = torch.linspace(0, 4, 100)[:, None].requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)


def grad(a, b):
    return torch.autograd.grad(a.sum(), b, create_graph=True)[0]


def losses():
    u = net(t)
    du = grad(u, t)
    res = grad(du, t) + 0.4 * du + 4 * u
    u0 = net(t0)
    return res.pow(2).mean(), (u0 - 1).pow(2).mean() + grad(u0, t0).pow(2).mean()


opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(1500):
    pde, ic = losses()
    loss = pde + 20 * ic
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 250 == 0:
        print("adam", step, pde.item(), ic.item())

lb = torch.optim.LBFGS(net.parameters(), max_iter=20, line_search_fn="strong_wolfe")


def closure():
    lb.zero_grad()
    p, i = losses()
    l = p + 20 * i
    l.backward()
    return l


for k in range(15):
    print("lbfgs", k, float(lb.step(closure)))
w = (4 - 0.04) ** 0.5
exact = torch.exp(-0.2 * t) * (torch.cos(w * t) + 0.2 / w * torch.sin(w * t))
print("relative error", ((net(t) - exact).norm() / exact.norm()).item())
