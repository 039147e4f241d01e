import math
import torch
import torch.nn as nn

# physics-informed network for u'' = -pi^2 sin(pi x), u(-1) = u(1) = 0   (solution: sin(pi x))
torch.manual_seed(5)


class PINN(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 1))

    def forward(self, x):
        return self.body(x)


net = PINN()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
xb = torch.tensor([[-1.0], [1.0]])
for step in range(2000):
    x = (torch.rand(128, 1) * 2 - 1).requires_grad_(True)
    u = net(x)
    du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    d2u = torch.autograd.grad(du.sum(), x, create_graph=True, allow_unused=True, materialize_grads=True)[0]
    residual = d2u + math.pi ** 2 * torch.sin(math.pi * x)
    loss_pde = residual.pow(2).mean()
    loss_bc = net(xb).pow(2).mean()
    loss = loss_pde + 10 * loss_bc
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 200 == 0:
        print(step, "pde", loss_pde.item(), "bc", loss_bc.item())

grid = torch.linspace(-1, 1, 201)[:, None]
with torch.no_grad():
    err = (net(grid) - torch.sin(math.pi * grid)).norm() / torch.sin(math.pi * grid).norm()
print("relative L2 error", err.item())
