import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
p = rng.permutation(len(X))
X, y = X[p], y[p]
Xtr, ytr, Xte, yte = X[:1200], y[:1200], X[1200:], y[1200:]
by_class = [np.where(ytr == c)[0] for c in range(10)]


def triplets(n):
    a, pos, neg = [], [], []
    for _ in range(n):
        c, d = rng.choice(10, 2, replace=False)
        i, j = rng.choice(by_class[c], 2, replace=False)
        k = rng.choice(by_class[d])
        a.append(i), pos.append(j), neg.append(k)
    return [torch.from_numpy(Xtr[ix]) for ix in (a, pos, neg)]


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, x):
        return F.normalize(self.f(x), dim=1)


net = Embed()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def recall_at_1():
    with torch.no_grad():
        g, q = net(torch.from_numpy(Xtr)), net(torch.from_numpy(Xte))
        nn_idx = torch.cdist(q, g).argmin(1).numpy()
    return (ytr[nn_idx] == yte).mean()


print("before training R@1", recall_at_1())
for step in range(400):
    a, pos, neg = triplets(64)
    ea, ep, en = net(a), net(pos), net(neg)
    loss = F.triplet_margin_loss(ea, en, ep, margin=0.5)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (step + 1) % 100 == 0:
        print(step + 1, "loss", round(loss.item(), 4), "R@1", round(recall_at_1(), 4))
