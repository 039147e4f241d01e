import math
import torch
import torch.nn as nn

# curriculum: learn to fit damped oscillations, short horizon first
torch.manual_seed(205)


def batch(n, horizon):
    t = torch.rand(n, 1) * horizon
    f = torch.rand(n, 1) * 2 + 1
    x = torch.cat([t, f], 1)
    return x, torch.exp(-0.3 * t) * torch.cos(f * t)


net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
xt, yt = batch(2000, 6.0)
for stage, horizon in enumerate([1.5, 3.0, 6.0]):
    for it in range(1500):
        x, y = batch(128, horizon)
        loss = nn.functional.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 250 == 249:
            print(f"stage {stage} horizon {horizon} it {it + 1} loss {loss.item():.5f}")
    for grp in opt.param_groups:
        grp["lr"] *= 0.6
with torch.no_grad():
    print("full horizon mse", nn.functional.mse_loss(net(xt), yt).item(), "variance", yt.var().item())
