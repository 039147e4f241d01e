import torch
from torch import nn
from sklearn.datasets import make_friedman1

torch.manual_seed(203)
X, y = make_friedman1(1200, noise=0.3, random_state=203)
X = torch.tensor(X * 2 - 1, dtype=torch.float32)
y = torch.tensor((y - y[:1000].mean()) / y[:1000].std(), dtype=torch.float32)[:, None]
net = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=10, T_mult=2, eta_min=1e-4)
best = None
for epoch in range(70):
    net.train()
    for i, b in enumerate(torch.randperm(1000).split(50)):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(X[b]), y[b])
        loss.backward()
        opt.step()
        sched.step(epoch + i / 20)
    net.eval()
    with torch.no_grad():
        v = nn.functional.mse_loss(net(X[1000:]), y[1000:]).item()
    if epoch in (0, 9, 10, 29, 30, 69):
        print("epoch", epoch, "lr %.5f" % opt.param_groups[0]["lr"], "train", round(loss.item(), 4), "val", round(v, 4))
print("R2", 1 - v / y[1000:].var().item())
