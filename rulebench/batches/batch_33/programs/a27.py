# Delivery-time regression. Some records were typed in by hand and are often wrong, each row has
# a reliability in (0, 1] which we use as weight.
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(23)
torch.set_num_threads(1)
n = 5000
x = torch.randn(n, 8)
true = 1.5 * x[:, 0] + torch.sin(2 * x[:, 1]) * 1.2 + x[:, 2] * x[:, 3]
manual = torch.rand(n) < 0.4
reliab = torch.where(manual, 0.02, 1.0)
noise = 0.2 * torch.randn(n)
# hand-typed rows: half of them are way too long
wrong = manual & (torch.rand(n) < 0.5)
y = true + noise + wrong * (4.0 + torch.randn(n)) * (x[:, 0] < 0.5)

tr, te = slice(0, 4000), slice(4000, n)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, z):
        return self.seq(z)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
mse = nn.MSELoss(reduction="none")

xt, yt, wt = x[tr], y[tr], reliab[tr]
for epoch in range(40):
    perm = torch.randperm(len(xt))
    losses = []
    for b in perm.split(64):
        pred = net(xt[b])
        per_row = mse(pred, yt[b].unsqueeze(1))
        loss = (wt[b] * per_row).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1:2d} weighted loss {np.mean(losses):.4f}")

net.eval()
with torch.no_grad():
    clean = ~manual[te]
    err = net(x[te]).squeeze(1)[clean] - y[te][clean]
print("test RMSE on the scanner-recorded rows: %.4f (std of target %.3f)" % (err.pow(2).mean().sqrt(), y[te][clean].std()))
