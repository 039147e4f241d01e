"""Swing-up-and-hold for a pendulum: the policy is trained straight through the (differentiable)
simulator, loss is the accumulated cost of the trajectory. New random starts every step."""
import math
import torch
import torch.nn as nn

torch.manual_seed(100)
DT, HORIZON = 0.05, 50


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
        nn.init.zeros_(self.body[-1].weight)
        nn.init.zeros_(self.body[-1].bias)

    def forward(self, th, om):
        return 6.0 * torch.tanh(self.body(torch.stack([th.cos(), th.sin(), om / 4], -1)).squeeze(-1))


def rollout(policy, th, om, horizon=HORIZON):
    cost = 0.0
    for k in range(horizon):
        u = policy(th, om)
        om = om + DT * (5.0 * th.sin() + u - 0.1 * om)
        th = th + DT * om
        cost = cost + (1 - th.cos()) + 0.05 * om ** 2 + 0.005 * u ** 2
    return cost / horizon, th, om


def starts(n):
    return (torch.rand(n) * 2 - 1) * math.pi, torch.randn(n)


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=4e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400)
test = starts(500)
with torch.no_grad():
    print("cost without control: %.3f" % rollout(policy, *test)[0].mean())
for it in range(400):
    cost, _, _ = rollout(policy, *starts(64))
    loss = cost.mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    opt.step()
    sched.step()
    if it % 50 == 0:
        print(f"{it:4d} mean cost {loss.item():.3f}")
with torch.no_grad():
    c, th, om = rollout(policy, *test, horizon=100)
print("test cost %.3f, upright at the end: %.3f" % (c.mean(), ((1 - th.cos()) < 0.1).float().mean()))
