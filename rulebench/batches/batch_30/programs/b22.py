"""Damped oscillator solved by a neural network; no data, only the equation.
u'' + 2*d*u' + w0^2*u = 0,  u(0)=1, u'(0)=0.   Adam first, L-BFGS afterwards."""
import torch

torch.manual_seed(10)
torch.set_default_dtype(torch.float64)
d, w0 = 0.5, 4.0
net = torch.nn.Sequential(
    torch.nn.Linear(1, 32), torch.nn.Tanh(),
    torch.nn.Linear(32, 32), torch.nn.Tanh(),
    torch.nn.Linear(32, 1),
)
t = torch.linspace(0, 2.5, 120).reshape(-1, 1).requires_grad_(True)


def u(x):
    # initial conditions are built in
    return 1 + x ** 2 * net(x)


def residual():
    y = u(t)
    dy, = torch.autograd.grad(y.sum(), t, create_graph=True)
    ddy, = torch.autograd.grad(dy.sum(), t, create_graph=True)
    return ((ddy + 2 * d * dy + w0 ** 2 * y) ** 2).mean()


def exact(x):
    w = (w0 ** 2 - d ** 2) ** 0.5
    return torch.exp(-d * x) * (torch.cos(w * x) + d / w * torch.sin(w * x))


opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for i in range(1000):
    opt.zero_grad()
    loss = residual()
    loss.backward()
    opt.step()
    if i % 250 == 0:
        print(f"adam {i:5d} residual {loss.item():.4e}")

lbfgs = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=20, history_size=50, line_search_fn="strong_wolfe")


def closure():
    lbfgs.zero_grad()
    l = residual()
    l.backward()
    return l


for i in range(30):
    l = lbfgs.step(closure)
    if i % 10 == 0:
        print(f"lbfgs {i:4d} residual {l.item():.4e}")
with torch.no_grad():
    x = torch.linspace(0, 2.5, 333).reshape(-1, 1)
    err = (u(x) - exact(x)).norm() / exact(x).norm()
print(f"relative L2 error against exact solution: {err.item():.2e}")
