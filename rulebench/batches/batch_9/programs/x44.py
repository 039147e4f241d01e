import torch
from torch import nn

torch.manual_seed(205)
# rare fault detection: 4 % positives
n = 3000
X = torch.randn(n, 12)
s = X[:, 0] * X[:, 1] + X[:, 2] - 0.5 * X[:, 3] ** 2
y = (s > torch.quantile(s, 0.96)).float()
Xa, ya, Xb, yb = X[:2400], y[:2400], X[2400:], y[2400:]
pos_weight = (ya == 0).sum() / (ya == 1).sum()
print("pos_weight", pos_weight.item())
net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
crit = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
for epoch in range(25):
    for b in torch.randperm(2400).split(60):
        loss = crit(net(Xa[b]).squeeze(-1), ya[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        with torch.no_grad():
            p = net(Xb).squeeze(-1) > 0
        tp = (p & (yb > 0)).sum().item()
        print(f"epoch {epoch + 1} loss {loss.item():.3f} recall {tp / yb.sum().item():.2f} precision {tp / max(1, p.sum().item()):.2f}")
