# Transfer learning: regression backbone on friedman1 -> new target on the same inputs
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score

torch.manual_seed(0)


def data(n, seed):
    X, y = make_friedman1(n, n_features=8, noise=0.5, random_state=seed)
    return torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)[:, None]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.fc = nn.Linear(64, 1)

    def forward(self, x):
        return self.fc(self.features(x))


def fit(model, opt, X, Y, epochs, tag):
    mse = nn.MSELoss()
    for ep in range(epochs):
        p = torch.randperm(len(X))
        s = 0.0
        for b in p.split(32):
            opt.zero_grad()
            l = mse(model(X[b]), Y[b])
            l.backward()
            opt.step()
            s += l.item() * len(b)
        if ep % 5 == 0:
            print(f"{tag} epoch {ep}: mse {s / len(X):.4f}")


Xa, ya = data(1500, 1)
ya = (ya - ya.mean()) / ya.std()
net = Net()
fit(net, torch.optim.Adam(net.parameters(), 2e-3), Xa, ya, 20, "source")

# target task: three quantities derived from the first one, few samples
Xb, yb = data(900, 2)
yb = (yb - yb.mean()) / yb.std()
Yb = torch.cat([yb, yb ** 2 - 1, torch.sin(2 * Xb[:, :1] + yb)], 1)
Xtr, Ytr, Xte, Yte = Xb[:500], Yb[:500], Xb[500:], Yb[500:]

optimizer = torch.optim.SGD([
    {"params": net.features.parameters(), "lr": 1e-3},
    {"params": net.fc.parameters(), "lr": 2e-2},
], momentum=0.9)
net.fc = nn.Linear(64, 3)
fit(net, optimizer, Xtr, Ytr, 40, "target")
with torch.no_grad():
    print("target test R2: %.4f" % r2_score(Yte.numpy(), net(Xte).numpy()))
