# Next-day direction of simulated asset returns with a small MLP
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(14)
torch.manual_seed(14)

n_days, n_assets = 2500, 12
# returns with weak momentum and a little mean reversion
r = np.zeros((n_days, n_assets))
eps = np.random.standard_t(5, size=(n_days, n_assets)) * 0.01
for t in range(5, n_days):
    r[t] = 0.10 * r[t - 1] - 0.12 * r[t - 5:t].mean(0) + eps[t]

X, y, day = [], [], []
for t in range(20, n_days - 1):
    for a in range(n_assets):
        w = r[t - 19:t + 1, a]
        X.append(np.concatenate([w[-5:], [w.mean(), w.std()]]))
        y.append(r[t + 1, a] > 0)
        day.append(t)
X, y, day = np.array(X), np.array(y, dtype=np.float32), np.array(day)

cut = int(n_days * 0.75)
tr, te = day < cut - 1, day >= cut
mean, std = X[tr].mean(0), X[tr].std(0)
Xn = torch.tensor((X - mean) / std, dtype=torch.float32)
yt = torch.tensor(y)
train_loader = DataLoader(TensorDataset(Xn[tr], yt[tr]), batch_size=512, shuffle=True)

model = nn.Sequential(nn.Linear(X.shape[1], 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
bce = nn.BCEWithLogitsLoss()

for epoch in range(12):
    model.train()
    losses = []
    for xb, yb in train_loader:
        loss = bce(model(xb).squeeze(1), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        z = model(Xn[te]).squeeze(1)
        test_loss = bce(z, yt[te]).item()
        hit = ((z > 0) == (yt[te] > 0.5)).float().mean().item()
    print(f"epoch {epoch + 1:2d} train {np.mean(losses):.5f} test {test_loss:.5f} hit rate {hit:.4f}")

oracle = 0.10 * r[:-1] - 0.12 * np.stack([r[max(0, t - 4):t + 1].mean(0) if t >= 4 else np.zeros(n_assets) for t in range(n_days - 1)])
print("hit rate of the generating rule:", round(float(((oracle[cut:] > 0) == (r[cut + 1:] > 0)).mean()), 4))
print("hit rate of always up:", round(float((y[te] > 0.5).mean()), 4))
