"""
Learning to park a drone by backpropagation through a simulator.

A small policy sees position, velocity and the goal and outputs an acceleration. The physics is written
in torch, so the cost of a whole flight can be differentiated with respect to the policy.
"""
import torch
from torch import nn

SEED = 6
torch.manual_seed(SEED)
DT, STEPS, A_MAX = 0.1, 40, 3.0
WIND = torch.tensor([0.6, -0.3])


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))

    def forward(self, pos, vel, goal):
        return A_MAX * torch.tanh(self.f(torch.cat([goal - pos, vel], -1)))


def fly(policy, n):
    pos, vel, goal = torch.randn(n, 2) * 2, torch.randn(n, 2) * 0.5, torch.randn(n, 2) * 2
    cost = 0.0
    for k in range(STEPS):
        acc = policy(pos, vel, goal) if policy is not None else torch.zeros(n, 2)
        vel = vel + DT * (acc - 0.2 * vel * vel.norm(dim=-1, keepdim=True) + WIND)
        pos = pos + DT * vel
        stage = ((pos - goal) ** 2).sum(-1) + 0.1 * (vel ** 2).sum(-1) + 0.02 * (acc ** 2).sum(-1)
        cost = cost + stage * DT
    miss = (pos - goal).norm(dim=-1)
    return (cost + 2 * miss ** 2).mean(), miss.mean()


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)
for it in range(500):
    cost, miss = fly(policy, 64)
    optimizer.zero_grad()
    cost.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if it % 50 == 0:
        print(f"iteration {it:4d}  flight cost {cost.item():8.3f}  final miss {miss.item():.3f} m")

with torch.no_grad():
    torch.manual_seed(1234)
    c0, m0 = fly(None, 1000)
    torch.manual_seed(1234)
    c1, m1 = fly(policy, 1000)
print(f"1000 new flights: no control cost {c0:.2f} miss {m0:.2f} m | policy cost {c1:.2f} miss {m1:.3f} m")
