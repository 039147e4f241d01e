# Raising a pendulum: the controller is trained by differentiating through 3 seconds of simulated physics.
# There is no data set; each step is a new batch of start states and the loss is the cost of the roll-out.
import torch, math
import torch.nn as nn

SEED = 0
torch.manual_seed(SEED)
torch.set_num_threads(1)
dt, H, umax = 0.05, 60, 12.0


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
        nn.init.zeros_(self.net[-1].weight)          # begin as "do nothing"
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, th, om):
        return umax * torch.tanh(self.net(torch.stack([th.sin(), th.cos(), om / 5], -1)).squeeze(-1))


def rollout(pi, th, om, steps=H):
    cost = 0.0
    for _ in range(steps):
        u = pi(th, om)
        om = om + dt * (9.81 * th.sin() + u - 0.05 * om)
        th = th + dt * om
        cost = cost + ((1 - th.cos()) + 0.05 * om ** 2 + 0.002 * u ** 2)
    return cost / steps, th, om


def starts(n):
    return math.pi + 1.0 * torch.randn(n), 0.5 * torch.randn(n)


pi = Policy()
opt = torch.optim.Adam(pi.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 400)
for it in range(1, 401):
    c, _, _ = rollout(pi, *starts(48))
    loss = c.mean()
    opt.zero_grad()
    loss.backward()
    gn = nn.utils.clip_grad_norm_(pi.parameters(), 0.5)
    opt.step()
    sched.step()
    if it % 50 == 0:
        print(f"it {it} cost {loss.item():.3f} grad norm before clipping {gn.item():.2f}")

torch.manual_seed(SEED + 1000)
with torch.no_grad():
    c, th, om = rollout(pi, *starts(400), steps=120)
    up = ((th.cos() > 0.95) & (om.abs() < 1)).float().mean().item()
print(f"fresh starts: mean cost {c.mean().item():.3f}, upright after 6 s: {100*up:.1f}%")
