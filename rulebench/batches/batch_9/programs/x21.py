import torch
from torch import nn

torch.manual_seed(206)
# physics style: data plus a separate learnable coefficient with its own optimizer
x = torch.linspace(0, 2, 200)[:, None]
true_k = 1.7
u = torch.exp(-true_k * x) + 0.01 * torch.randn_like(x)
net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
k = nn.Parameter(torch.tensor(0.5))
opt_net = torch.optim.Adam(net.parameters(), lr=3e-3)
opt_k = torch.optim.Adam([k], lr=2e-2)
for step in range(1500):
    xi = (torch.rand(64, 1) * 2).requires_grad_(True)
    ui = net(xi)
    du, = torch.autograd.grad(ui.sum(), xi, create_graph=True)
    res = ((du + k * ui) ** 2).mean()
    data = ((net(x) - u) ** 2).mean()
    loss = data + 0.1 * res
    opt_net.zero_grad()
    opt_k.zero_grad()
    loss.backward()
    opt_net.step()
    opt_k.step()
    if step % 250 == 249:
        print(f"step {step + 1} data {data.item():.5f} residual {res.item():.5f} k {k.item():.3f}")
print("estimated k", k.item(), "true", true_k)
