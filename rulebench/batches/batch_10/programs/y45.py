import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(201)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16, dtype=torch.float32)
y = torch.tensor(y)
perm = torch.randperm(len(X))
tr, te = perm[:1400], perm[1400:]
loader = DataLoader(TensorDataset(X[tr], y[tr]), batch_size=8, shuffle=True)

ACCUM = 4  # effective batch of 32
net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
crit = nn.CrossEntropyLoss()
for epoch in range(12):
    total = 0.0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        loss = crit(net(xb), yb)
        (loss / ACCUM).backward()
        total += loss.item()
        if (i + 1) % ACCUM == 0 or i + 1 == len(loader):
            opt.step()
            opt.zero_grad()
    with torch.no_grad():
        acc = (net(X[te]).argmax(1) == y[te]).float().mean().item()
    print(f"epoch {epoch} loss {total / len(loader):.4f} acc {acc:.4f}")
