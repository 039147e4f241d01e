"""Physics-informed fit of a damped oscillator: Adam first, then L-BFGS."""
import torch
import torch.nn as nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
D, W0 = 1.0, 6.0


class Oscillator(nn.Module):
    """Solution ansatz that satisfies u(0)=1, u'(0)=0 by construction."""

    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, t):
        return 1 + t ** 2 * self.net(2 * t - 1) * 10


def exact(t):
    w = (W0 ** 2 - D ** 2) ** 0.5
    return torch.exp(-D * t) * (torch.cos(w * t) + D / w * torch.sin(w * t))


def residual(model, t):
    u = model(t)
    du, = torch.autograd.grad(u.sum(), t, create_graph=True)
    ddu, = torch.autograd.grad(du.sum(), t, create_graph=True)
    return (ddu + 2 * D * du + W0 ** 2 * u) / W0 ** 2


def error(model):
    t = torch.linspace(0, 1, 200)[:, None]
    with torch.no_grad():
        return ((model(t) - exact(t)).norm() / exact(t).norm()).item()


def train_adam(model, t, steps):
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for i in range(steps):
        loss = residual(model, t).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if i % 200 == 0:
            print(f"adam {i} loss {loss.item():.3e} error {error(model):.3e}")


def train_lbfgs(model, t, outer):
    opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=20, history_size=30, line_search_fn="strong_wolfe",
                            tolerance_grad=1e-12, tolerance_change=1e-16)

    def closure():
        opt.zero_grad()
        loss = residual(model, t).pow(2).mean()
        loss.backward()
        return loss

    for i in range(outer):
        loss = opt.step(closure)
        if i % 5 == 4:
            print(f"lbfgs {i + 1} loss {loss.item():.3e} error {error(model):.3e}")


def main():
    model = Oscillator()
    t = torch.linspace(0, 1, 120)[:, None].requires_grad_(True)
    train_adam(model, t, 800)
    train_lbfgs(model, t, 40)
    print(f"final relative error {error(model):.3e}")


if __name__ == "__main__":
    main()
