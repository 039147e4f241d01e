"""Physics-informed net for a damped oscillator  u'' + 2*mu*u' + w0^2 u = 0,  u(0)=1, u'(0)=0."""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(123)
torch.set_default_dtype(torch.float64)
mu, w0 = 1.0, 6.0


def exact(t):
    w = np.sqrt(w0 ** 2 - mu ** 2)
    return np.exp(-mu * t) * (np.cos(w * t) + mu / w * np.sin(w * t))


net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
t_col = torch.linspace(0, 1.5, 60).view(-1, 1).requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)


def physics_loss():
    u0 = net(t0)
    du0 = torch.autograd.grad(u0, t0, torch.ones_like(u0), create_graph=True)[0]
    u = net(t_col)
    du = torch.autograd.grad(u, t_col, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du, t_col, torch.ones_like(du), create_graph=True)[0]
    res = d2u + 2 * mu * du + w0 ** 2 * u
    return ((u0 - 1) ** 2).sum() + 0.1 * (du0 ** 2).sum() + 1e-3 * (res ** 2).mean()


opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=5, history_size=50, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = physics_loss()
    loss.backward()
    return loss


for it in range(160):
    loss = opt.step(closure)
    if it % 20 == 0:
        print(f"LBFGS step {it:3d} loss {loss.item():.3e}")
tt = np.linspace(0, 1.5, 200)
with torch.no_grad():
    u = net(torch.tensor(tt).view(-1, 1)).numpy().ravel()
print("max abs error vs exact solution: %.5f" % np.abs(u - exact(tt)).max())
