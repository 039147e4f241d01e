import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
# spirals
n = 600
r = torch.linspace(0.1, 1, n)
xs, ys = [], []
for c in range(3):
    theta = torch.linspace(c * 2.1, c * 2.1 + 4, n) + 0.15 * torch.randn(n)
    xs.append(torch.stack([r * theta.sin(), r * theta.cos()], 1))
    ys.append(torch.full((n,), c))
X, y = torch.cat(xs), torch.cat(ys)
p = torch.randperm(len(X))
X, y = X[p], y[p]
train = TensorDataset(X[:1400], y[:1400])
Xv, yv = X[1400:], y[1400:]

model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss_fn = nn.CrossEntropyLoss()


def train_epoch(loader):
    total = 0
    for xb, yb in loader:
        logits = model(xb)
        loss = loss_fn(logits, yb)
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


loader = DataLoader(train, batch_size=32, shuffle=True)
for epoch in range(40):
    l = train_epoch(loader)
    with torch.no_grad():
        lv = model(Xv)
        vloss = loss_fn(lv, yv).item()
        vacc = (lv.argmax(1) == yv).float().mean().item()
    if epoch % 2 == 1:
        print(f"{epoch + 1:3d} train {l:.4f} val {vloss:.4f} acc {vacc:.3f}")
