"""Learning a controller by backpropagating through a simulator.

Cart with a pendulum hanging below (crane); the policy must bring the load to the origin without
swing.  There is no data set and there are no targets, the training signal is the cost
of a 3 second roll-out from a random start.
"""
import torch
import torch.nn as nn

SEED = 4
torch.manual_seed(SEED)
torch.set_num_threads(1)
DT, HORIZON, LEN, G = 0.05, 60, 1.0, 9.81


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 1))
        nn.init.zeros_(self.f[-1].weight)
        nn.init.zeros_(self.f[-1].bias)

    def forward(self, s):
        x, v, th, om = s.unbind(1)
        return 6.0 * torch.tanh(self.f(torch.stack([x, v, th.sin(), th.cos(), om], 1))).squeeze(1)


def simulate(policy, s, steps=HORIZON):
    cost = 0.0
    for _ in range(steps):
        a = policy(s)
        x, v, th, om = s.unbind(1)
        v2 = v + DT * a
        om2 = om + DT * (-G / LEN * th.sin() - a / LEN * th.cos() - 0.05 * om)
        s = torch.stack([x + DT * v2, v2, th + DT * om2, om2], 1)
        cost = cost + (s[:, 0] ** 2 + s[:, 2] ** 2 + 0.1 * s[:, 1] ** 2 + 0.1 * s[:, 3] ** 2
                       + 0.002 * a ** 2)
    return cost / steps, s


def starts(n, gen=None):
    lim = torch.tensor([2.0, 0.5, 0.5, 0.5])
    return (torch.rand(n, 4, generator=gen) * 2 - 1) * lim


pi = Policy()
opt = torch.optim.Adam(pi.parameters(), 1e-2)
held_out = starts(300, torch.Generator().manual_seed(1234))
with torch.no_grad():
    print("no control, held-out cost: %.4f" % simulate(pi, held_out)[0].mean())
for it in range(400):
    cost, _ = simulate(pi, starts(32))
    loss = cost.mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(pi.parameters(), 0.5)
    opt.step()
    if it == 250:
        for grp in opt.param_groups:
            grp["lr"] *= 0.2
    if it % 50 == 0:
        print(f"iter {it:4d} cost {loss.item():.4f}")

with torch.no_grad():
    c, end = simulate(pi, held_out, 160)
    print("trained, held-out 3 s cost: %.4f" % simulate(pi, held_out)[0].mean())
    print("mean |x| after 8 s: %.4f   mean |angle| %.4f" % (end[:, 0].abs().mean(), end[:, 2].abs().mean()))
