"""Fit a damped oscillation from 40 measurements with a small tanh network."""
import torch

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)

t = torch.linspace(0, 4, 40).unsqueeze(1)
u = torch.exp(-0.5 * t) * torch.cos(4 * t) + 0.01 * torch.randn_like(t)
t_dense = torch.linspace(0, 4, 400).unsqueeze(1)
u_dense = torch.exp(-0.5 * t_dense) * torch.cos(4 * t_dense)

model = torch.nn.Sequential(
    torch.nn.Linear(1, 24), torch.nn.Tanh(),
    torch.nn.Linear(24, 24), torch.nn.Tanh(),
    torch.nn.Linear(24, 1),
)
opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=8, history_size=30, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    fit = torch.mean((model(t / 2 - 1) - u) ** 2)
    reg = 1e-6 * sum((p ** 2).sum() for p in model.parameters())
    loss = fit + reg
    loss.backward()
    return loss


for k in range(150):
    loss = opt.step(closure)
    if k % 15 == 0 or k == 149:
        with torch.no_grad():
            err = torch.mean((model(t_dense / 2 - 1) - u_dense) ** 2)
        print(f"iter {k:3d}  loss {loss.item():.3e}  error against truth {err.item():.3e}")
