import math
import torch
import torch.nn as nn

# fit a damped oscillator with full batch LBFGS in double precision
torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
t = torch.linspace(0, 4, 200)[:, None]
y = torch.exp(-0.5 * t) * torch.cos(2 * math.pi * t) + 0.01 * torch.randn(200, 1)

net = nn.Sequential(nn.Linear(1, 30), nn.Tanh(), nn.Linear(30, 30), nn.Tanh(), nn.Linear(30, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=4, history_size=20, line_search_fn="strong_wolfe")
tin = (t - 2) / 1.2


def closure():
    opt.zero_grad()
    loss = ((net(tin) - y) ** 2).mean()
    loss.backward()
    return loss


for k in range(100):
    loss = opt.step(closure)
    if k % 10 == 0:
        print(k, loss.item())
with torch.no_grad():
    res = ((net(tin) - y) ** 2).mean().item()
print("final mse", res, "signal variance", y.var().item())
