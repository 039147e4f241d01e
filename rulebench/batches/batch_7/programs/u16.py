import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(201)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32)
y = torch.tensor(y)
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]
dl = DataLoader(TensorDataset(X[:1440], y[:1440]), batch_size=8, shuffle=True)
ACCUM = 4

net = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
lf = nn.CrossEntropyLoss()
for epoch in range(12):
    total = 0.0
    opt.zero_grad()
    for i, (a, b) in enumerate(dl):
        loss = lf(net(a), b) / ACCUM
        loss.backward()
        total += loss.item() * ACCUM
        if (i + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    with torch.no_grad():
        acc = (net(X[1440:]).argmax(1) == y[1440:]).float().mean()
    print(f"epoch {epoch} loss {total / len(dl):.4f} test acc {acc:.4f}")
