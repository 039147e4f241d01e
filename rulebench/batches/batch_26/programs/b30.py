# PINN for the damped oscillator  u'' + 2 d u' + w0^2 u = 0,  u(0)=1, u'(0)=0
# No data: only the residual of the equation at collocation points. The initial conditions
# are built into the ansatz u(t) = 1 + t^2 * N(t), so there is no boundary loss.
import math
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

d, w0 = 0.5, 4.0
T = 3.0


def exact(t):
    w = math.sqrt(w0 ** 2 - d ** 2)
    return torch.exp(-d * t) * (torch.cos(w * t) + d / w * torch.sin(w * t))


class Field(torch.nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.l = torch.nn.ModuleList([torch.nn.Linear(1, h), torch.nn.Linear(h, h), torch.nn.Linear(h, 1)])

    def forward(self, t):
        z = torch.tanh(self.l[0](t * 2 - T))
        z = torch.tanh(self.l[1](z))
        return 1 + t ** 2 * self.l[2](z)


def residual(net, t):
    t = t.requires_grad_(True)
    u = net(t)
    du = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    ddu = torch.autograd.grad(du.sum(), t, create_graph=True)[0]
    return (ddu + 2 * d * du + w0 ** 2 * u) / w0 ** 2


net = Field()
test_t = torch.linspace(0, T, 301)[:, None]


def error():
    with torch.no_grad():
        return (net(test_t) - exact(test_t)).abs().max().item()


adam = torch.optim.Adam(net.parameters(), lr=5e-3)
for k in range(2500):
    t = torch.rand(64, 1) * T
    loss = residual(net, t).pow(2).mean()
    adam.zero_grad()
    loss.backward()
    adam.step()
    if k % 500 == 499:
        print(f"adam  {k + 1} loss {loss.item():.2e} max err {error():.2e}")

grid = torch.linspace(0, T, 128)[:, None]
lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=25, history_size=50, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    l = residual(net, grid.clone()).pow(2).mean()
    l.backward()
    return l


for k in range(20):
    l = lbfgs.step(closure)
    if k % 5 == 4:
        print(f"lbfgs {k + 1} loss {l.item():.2e} max err {error():.2e}")
print("max abs error against the exact solution:", f"{error():.2e}")
