import numpy as np
import torch
import torch.nn as nn

# click-through prediction with a hand-written cross entropy
torch.manual_seed(0)
rng = np.random.default_rng(0)
N, D = 4000, 20
X = rng.normal(0, 1, (N, D)) * rng.uniform(1, 25, D)
w = rng.normal(0, 1, D) / X.std(0)
y = (X @ w * 3 + rng.logistic(0, 0.3, N) > 0).astype("float32")
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return torch.sigmoid(self.body(x)).squeeze(-1)


def bce(p, t):
    return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(15):
    perm = torch.randperm(3200)
    total = 0.0
    for i in range(0, 3200, 64):
        idx = perm[i:i + 64]
        loss = bce(net(X[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        acc = ((net(X[3200:]) > 0.5).float() == y[3200:]).float().mean()
    print(f"epoch {epoch:2d} loss {total / 3200:.4f} test acc {acc:.4f}")
