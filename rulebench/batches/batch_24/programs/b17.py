"""Self-supervised pretraining (BYOL style) of a tabular encoder, then a linear probe."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.manual_seed(4)
d = load_digits()
X = torch.tensor(d.data, dtype=torch.float32) / 16.0
y = d.target
perm = torch.randperm(len(X))
X, y = X[perm], y[perm.numpy()]
X_pre, X_test = X[:1400], X[1400:]
y_pre, y_test = y[:1400], y[1400:]


def augment(x):
    img = x.view(-1, 8, 8)
    dx, dy = torch.randint(-1, 2, (2,)).tolist()
    img = torch.roll(img, (dx, dy), dims=(1, 2))
    img = img + 0.1 * torch.randn_like(img)
    drop = (torch.rand_like(img) > 0.1).float()
    return (img * drop).flatten(1)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = mlp(64, 128, 64)
        self.projector = mlp(64, 64, 32)

    def forward(self, x):
        return self.projector(self.encoder(x))


online = Branch()
predictor = mlp(32, 64, 32)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)

opt = torch.optim.AdamW(list(online.parameters()) + list(predictor.parameters()), lr=2e-3, weight_decay=1e-4)
tau = 0.98


@torch.no_grad()
def update_target():
    for pt, po in zip(target.parameters(), online.parameters()):
        pt.mul_(tau).add_(po, alpha=1 - tau)


def distance(p, z):
    return 2 - 2 * F.cosine_similarity(p, z, dim=-1).mean()


def probe():
    online.eval()
    with torch.no_grad():
        a, b = online.encoder(X_pre[:100]).numpy(), online.encoder(X_test).numpy()
    online.train()
    return LogisticRegression(max_iter=500).fit(a, y_pre[:100]).score(b, y_test)


print("probe with random encoder:", round(probe(), 4))
for epoch in range(1, 31):
    total, n = 0.0, 0
    for idx in torch.randperm(len(X_pre)).split(128):
        if len(idx) < 64:
            continue
        v1, v2 = augment(X_pre[idx]), augment(X_pre[idx])
        with torch.no_grad():
            t1, t2 = target(v1), target(v2)
        loss = 0.5 * (distance(predictor(online(v1)), t2) + distance(predictor(online(v2)), t1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_target()
        total += loss.item()
        n += 1
    if epoch % 6 == 0:
        with torch.no_grad():
            spread = F.normalize(online(X_pre), dim=1).std(0).mean().item()
        print(f"epoch {epoch} loss {total / n:.4f} embedding spread {spread:.4f} probe {probe():.4f}")
