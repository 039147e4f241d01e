import torch, math
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
n = 1600
r = torch.rand(n) * 3 + 0.2
lab = torch.arange(n) % 2
th = r * 3 + lab * math.pi
X = torch.stack([r * torch.cos(th), r * torch.sin(th)], 1) + 0.04 * torch.randn(n, 2)
ds = TensorDataset(X, lab.float())
tr, te = torch.utils.data.random_split(ds, [1300, 300])
dl = DataLoader(tr, batch_size=32, shuffle=True)

net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=15, gamma=0.1)
crit = nn.BCEWithLogitsLoss()

for epoch in range(40):
    tot = 0
    for xb, yb in dl:
        opt.zero_grad()
        loss = crit(net(xb).squeeze(1), yb)
        loss.backward()
        opt.step()
        sched.step()
        tot += loss.item()
    if epoch % 4 == 3:
        print(epoch + 1, "loss", round(tot / len(dl), 4))

xt, yt = te[:]
with torch.no_grad():
    print("test acc", ((net(xt).squeeze(1) > 0).float() == yt).float().mean().item())
