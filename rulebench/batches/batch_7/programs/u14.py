"""Metric learning with triplets on the digits, scored by 1-nearest-neighbour."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

torch.manual_seed(207)
rng = np.random.default_rng(207)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32)
tr, te = np.arange(1000), np.arange(1000, len(y))
by_class = [tr[y[tr] == c] for c in range(10)]

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8))
embed = lambda x: F.normalize(net(x), dim=1)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
margin = 0.3
for step in range(1, 1001):
    a = rng.choice(tr, 64)
    p = np.array([rng.choice(by_class[y[i]]) for i in a])
    neg_c = (y[a] + rng.integers(1, 10, 64)) % 10
    n = np.array([rng.choice(by_class[c]) for c in neg_c])
    ea, ep, en = embed(X[a]), embed(X[p]), embed(X[n])
    loss = F.relu((ea - ep).pow(2).sum(1) - (ea - en).pow(2).sum(1) + margin).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        with torch.no_grad():
            E = embed(X).numpy()
        knn = KNeighborsClassifier(1).fit(E[tr], y[tr])
        print(f"step {step} loss {loss.item():.4f} 1-nn test acc {knn.score(E[te], y[te]):.3f}")
