# damped oscillator  u'' + 2 d u' + w0^2 u = 0,  u(0)=1, u'(0)=0   without any measured data
import math
import torch

torch.manual_seed(0)
d, w0 = 1.0, 6.0


def exact(t):
    w = math.sqrt(w0 ** 2 - d ** 2)
    return torch.exp(-d * t) * (torch.cos(w * t) + d / w * torch.sin(w * t))


class Net(torch.nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.l = torch.nn.ModuleList([torch.nn.Linear(1, h), torch.nn.Linear(h, h), torch.nn.Linear(h, 1)])

    def forward(self, t):
        z = t
        for lin in self.l[:-1]:
            z = torch.tanh(lin(z * 1.0))
        return 1.0 + t ** 2 * self.l[-1](z)      # initial conditions are built in


def residual(net, t):
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    ddu = torch.autograd.grad(du, t, torch.ones_like(u), create_graph=True)[0]
    return ddu + 2 * d * du + w0 ** 2 * u


net = Net()
net.l[0].weight.data.mul_(4.0)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9995)
for it in range(3000):
    t = torch.rand(128, 1).mul_(2.0).requires_grad_(True)
    r = residual(net, t)
    # earlier times first: causal weighting
    loss = (torch.exp(-0.5 * t.detach()) * r ** 2).mean() / w0 ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if it % 500 == 0:
        print("adam", it, loss.item())

t = torch.linspace(0, 2, 200)[:, None].requires_grad_(True)
lb = torch.optim.LBFGS(net.parameters(), max_iter=20, history_size=50, line_search_fn="strong_wolfe")


def closure():
    lb.zero_grad()
    l = (residual(net, t) ** 2).mean() / w0 ** 2
    l.backward()
    return l


for k in range(30):
    l = lb.step(closure)
    if k % 10 == 0:
        print("lbfgs", k, float(l))

with torch.no_grad():
    tt = torch.linspace(0, 2, 777)[:, None]
    rel = (net(tt) - exact(tt)).norm() / exact(tt).norm()
print(f"relative L2 error against the closed form: {rel:.2e}")
