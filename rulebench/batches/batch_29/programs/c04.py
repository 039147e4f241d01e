# Physics-informed net for the damped oscillator  u'' + 0.4 u' + 4 u = 0, u(0)=1, u'(0)=0.
# No data at all; the only targets are zeros.
import math
import torch
from torch import nn

SEED = 5
torch.manual_seed(SEED)
torch.set_default_dtype(torch.float64)

net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))

def u(t):
    # hard initial conditions: u(0)=1 and u'(0)=0 whatever the net says
    return 1.0 + t ** 2 * net(t)

def residual(t):
    t = t.requires_grad_(True)
    y = u(t)
    dy = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]
    ddy = torch.autograd.grad(dy, t, torch.ones_like(dy), create_graph=True)[0]
    return ddy + 0.4 * dy + 4.0 * y

opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(1500):
    t = torch.rand(64, 1) * 4.0
    loss = residual(t).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 300 == 0:
        print(f"adam {step:5d} residual {loss.item():.3e}")

# polish on a fixed grid
grid = torch.linspace(0, 4, 128).unsqueeze(1)
lb = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, line_search_fn="strong_wolfe")
def closure():
    lb.zero_grad()
    l = residual(grid.clone()).pow(2).mean()
    l.backward()
    return l
for k in range(15):
    print("lbfgs", k, f"{lb.step(closure).item():.3e}")

w = math.sqrt(4 - 0.04)
tt = torch.linspace(0, 4, 400).unsqueeze(1)
exact = torch.exp(-0.2 * tt) * (torch.cos(w * tt) + 0.2 / w * torch.sin(w * tt))
with torch.no_grad():
    err = (u(tt) - exact).abs().max().item()
print(f"max abs error against the exact solution: {err:.2e}")
