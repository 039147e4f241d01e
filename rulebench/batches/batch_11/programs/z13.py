"""PINN for the heat equation u_t = k u_xx on [0,1]x[0,1], u(0,x)=sin(pi x), u(t,0)=u(t,1)=0."""
import argparse
import math
import torch
import torch.nn as nn


class FieldNet(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        layers, d = [], 2
        for _ in range(depth):
            layers += [nn.Linear(d, width), nn.Tanh()]
            d = width
        self.net = nn.Sequential(*layers, nn.Linear(d, 1))

    def forward(self, tx):
        return self.net(2 * tx - 1)[:, 0]


def grad(out, inp):
    return torch.autograd.grad(out.sum(), inp, create_graph=True)[0]


class HeatProblem:
    def __init__(self, k):
        self.k = k

    def exact(self, tx):
        return torch.exp(-self.k * math.pi ** 2 * tx[:, 0]) * torch.sin(math.pi * tx[:, 1])

    def residual(self, net, tx):
        tx = tx.requires_grad_(True)
        du = grad(net(tx), tx)
        u_t, u_x = du[:, 0], du[:, 1]
        u_xx = grad(u_x, tx)[:, 0]
        return u_t - self.k * u_xx

    def collocation(self, n):
        return torch.rand(n, 2)

    def initial(self, n):
        x = torch.rand(n)
        return torch.stack([torch.zeros(n), x], 1), torch.sin(math.pi * x)

    def boundary(self, n):
        t, side = torch.rand(n), torch.randint(0, 2, (n,)).float()
        return torch.stack([t, side], 1)


def rel_l2(net, prob, m=41):
    s = torch.linspace(0, 1, m)
    tx = torch.cartesian_prod(s, s)
    with torch.no_grad():
        e = net(tx) - prob.exact(tx)
        return (e.norm() / prob.exact(tx).norm()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--k", type=float, default=0.15)
    ap.add_argument("--steps", type=int, default=1500)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--w-data", type=float, default=5.0)
    args = ap.parse_args()
    torch.manual_seed(0)
    prob, net = HeatProblem(args.k), FieldNet()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.998)
    for step in range(1, args.steps + 1):
        pde = prob.residual(net, prob.collocation(200)).pow(2).mean()
        xi, ui = prob.initial(64)
        ic = (net(xi) - ui).pow(2).mean()
        bc = net(prob.boundary(64)).pow(2).mean()
        loss = pde + args.w_data * (ic + bc)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if step % 250 == 0:
            print(f"{step} pde {pde.item():.2e} ic {ic.item():.2e} bc {bc.item():.2e} rel L2 error {rel_l2(net, prob):.4f}")


if __name__ == "__main__":
    main()
