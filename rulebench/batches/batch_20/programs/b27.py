"""Physics-informed network for u'' = -pi^2 sin(pi x), u(-1) = u(1) = 0: Adam first, then L-BFGS."""
import math
import torch
import torch.nn as nn

torch.manual_seed(14)


class Net(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        layers = [nn.Linear(1, width), nn.Tanh()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Tanh()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.xavier_normal_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.net(x)


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def residual(net, x):
    u = net(x)
    u_xx = derivative(derivative(u, x), x)
    return u_xx + math.pi ** 2 * torch.sin(math.pi * x)


def losses(net, x):
    edge = net(torch.tensor([[-1.0], [1.0]]))
    return residual(net, x).pow(2).mean(), edge.pow(2).mean()


@torch.no_grad()
def error(net):
    x = torch.linspace(-1, 1, 401).unsqueeze(1)
    exact = torch.sin(math.pi * x)
    return ((net(x) - exact).norm() / exact.norm()).item()


net = Net()
W_EDGE = 50.0
adam = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(1, 601):
    x = (2 * torch.rand(128, 1) - 1).requires_grad_(True)
    pde, edge = losses(net, x)
    loss = pde + W_EDGE * edge
    adam.zero_grad()
    loss.backward()
    adam.step()
    if step % 100 == 0:
        print(f"adam {step}: pde {pde.item():.5f} edge {edge.item():.2e} rel. error {error(net):.4f}")

grid = torch.linspace(-1, 1, 128).unsqueeze(1).requires_grad_(True)
lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=10, history_size=30,
                          line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    pde, edge = losses(net, grid)
    total = pde + W_EDGE * edge
    total.backward()
    return total


for it in range(1, 16):
    value = lbfgs.step(closure)
    if it % 5 == 0:
        print(f"lbfgs {it}: loss {value.item():.6f} rel. error {error(net):.5f}")
