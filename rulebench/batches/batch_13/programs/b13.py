# PINN for u'' = -pi^2 sin(pi x), u(0) = u(1) = 0, exact solution sin(pi x)
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
pi = torch.pi

def residual(x):
    x.requires_grad_(True)
    u = net(x)
    u_x = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, torch.ones_like(u_x))[0]
    return u_xx + pi ** 2 * torch.sin(pi * x)

xb = torch.tensor([[0.0], [1.0]])
for it in range(3000):
    x = torch.rand(64, 1)
    loss_pde = residual(x).pow(2).mean()
    loss_bc = net(xb).pow(2).mean()
    loss = loss_pde + 100 * loss_bc
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 300 == 0:
        print(f"{it:5d} pde {loss_pde.item():.4e} bc {loss_bc.item():.4e}")

xt = torch.linspace(0, 1, 101).unsqueeze(1)
with torch.no_grad():
    err = (net(xt) - torch.sin(pi * xt)).abs().max().item()
print("max abs error", err)
