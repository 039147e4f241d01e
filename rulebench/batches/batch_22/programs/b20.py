"""BYOL-style pretraining on digit images followed by a linear probe."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.manual_seed(12)
digits = load_digits()
X = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = digits.target
perm = torch.randperm(len(X))
train_idx, test_idx = perm[:1400], perm[1400:]


def augment(x):
    n = len(x)
    ang = (torch.rand(n) - 0.5) * 0.5
    scale = 1 + (torch.rand(n) - 0.5) * 0.3
    shift = (torch.rand(n, 2) - 0.5) * 0.4
    theta = torch.stack([torch.stack([ang.cos() * scale, -ang.sin(), shift[:, 0]], 1),
                         torch.stack([ang.sin(), ang.cos() * scale, shift[:, 1]], 1)], 1)
    grid = F.affine_grid(theta, x.shape, align_corners=False)
    x = F.grid_sample(x, grid, align_corners=False)
    return x + 0.08 * torch.randn_like(x)


def projector(i, o):
    return nn.Sequential(nn.Linear(i, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, o))


class Online(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
                                     nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(),
                                     nn.Flatten(), nn.Linear(48 * 16, 64))
        self.proj = projector(64, 32)
        self.pred = projector(32, 32)

    def forward(self, x):
        return self.pred(self.proj(self.encoder(x)))


online = Online()
target = copy.deepcopy(nn.Sequential(online.encoder, online.proj))
target.requires_grad_(False)
opt = torch.optim.AdamW(online.parameters(), lr=2e-3, weight_decay=1e-4)


def regression(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


def probe():
    online.eval()
    with torch.no_grad():
        f = online.encoder(X).numpy()
    online.train()
    clf = LogisticRegression(max_iter=300).fit(f[train_idx[:200]], y[train_idx[:200]])
    return clf.score(f[test_idx], y[test_idx]), f.std(0).mean()


print("probe on raw pixels:", LogisticRegression(max_iter=300).fit(
    X[train_idx[:200]].flatten(1), y[train_idx[:200]]).score(X[test_idx].flatten(1), y[test_idx]))
for epoch in range(21):
    total = 0.0
    batches = train_idx[torch.randperm(len(train_idx))].split(128)
    for idx in batches:
        v1, v2 = augment(X[idx]), augment(X[idx])
        with torch.no_grad():
            t1, t2 = target(v1), target(v2)
        loss = regression(online(v1), t2) + regression(online(v2), t1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for pt, po in zip(target.parameters(), nn.Sequential(online.encoder, online.proj).parameters()):
                pt.mul_(0.97).add_(po, alpha=0.03)
        total += loss.item()
    if epoch % 4 == 0:
        acc, std = probe()
        print(f"epoch {epoch} loss {total / len(batches):.4f} probe accuracy {acc:.4f} feature std {std:.3f}")
