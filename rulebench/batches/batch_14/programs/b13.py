# batch-hard triplet loss on digits, 1-NN retrieval on held-out digits
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16, dtype=torch.float32)
held = rng.random(len(y)) < 0.4
by_class = [np.flatnonzero((y == c) & ~held) for c in range(10)]

net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 16))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
margin = 0.2


def embed(x):
    return F.normalize(net(x), dim=1)


def recall_at_1(mask):
    with torch.no_grad():
        e = embed(X[mask])
    lab = torch.tensor(y[mask])
    d = torch.cdist(e, e).fill_diagonal_(9e9)
    return (lab[d.argmin(1)] == lab).float().mean().item()


print("before: train %.3f held-out %.3f" % (recall_at_1(~held), recall_at_1(held)))
for it in range(1, 801):
    idx = np.concatenate([rng.choice(c, 8, replace=False) for c in by_class])
    lab = torch.tensor(y[idx])
    e = embed(X[idx] + 0.1 * torch.randn(len(idx), 64))
    d = torch.cdist(e, e)
    same = lab[:, None] == lab[None]
    hardest_pos = d.masked_fill(~same, -1).max(1).values
    hardest_neg = d.masked_fill(same, 9e9).min(1).values
    loss = F.relu(hardest_pos - hardest_neg + margin).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 0:
        print(it, "loss %.4f active %.2f train %.3f held-out %.3f" % (loss.item(), (hardest_pos - hardest_neg + margin > 0).float().mean(), recall_at_1(~held), recall_at_1(held)))
