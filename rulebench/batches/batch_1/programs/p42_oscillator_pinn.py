# Physics-informed net for the damped oscillator  u'' + 2*zeta*w*u' + w^2 u = 0, u(0)=1, u'(0)=0
# full batch, float64, Adam warm-up and then L-BFGS
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
zeta, w = 0.1, 4.0
t = torch.linspace(0, 2, 120).reshape(-1, 1).requires_grad_(True)
t0 = torch.zeros(1, 1, requires_grad=True)


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


u = nn.Sequential(nn.Linear(1, 24), Sine(), nn.Linear(24, 24), Sine(), nn.Linear(24, 1))


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def loss_fn():
    ut = u(t)
    d1 = grad(ut, t)
    d2 = grad(d1, t)
    res = (d2 + 2 * zeta * w * d1 + w ** 2 * ut) / w ** 2
    u0 = u(t0)
    return (res ** 2).mean() + 10 * ((u0 - 1) ** 2).sum() + ((grad(u0, t0)) ** 2).sum()


adam = torch.optim.Adam(u.parameters(), lr=3e-3)
for i in range(600):
    adam.zero_grad()
    loss = loss_fn()
    loss.backward()
    adam.step()
    if i % 100 == 0:
        print(f"adam {i} {loss.item():.3e}")

lbfgs = torch.optim.LBFGS(u.parameters(), lr=1.0, max_iter=20, history_size=30, line_search_fn="strong_wolfe")
for i in range(40):
    def closure():
        lbfgs.zero_grad()
        l = loss_fn()
        l.backward()
        return l
    loss = lbfgs.step(closure)
    if i % 5 == 0:
        print(f"lbfgs {i} {float(loss):.3e}")

wd = w * (1 - zeta ** 2) ** 0.5
tt = t.detach()
exact = torch.exp(-zeta * w * tt) * (torch.cos(wd * tt) + zeta * w / wd * torch.sin(wd * tt))
print("max abs error vs exact:", (u(tt) - exact).abs().max().item())
