"""BYOL on digits (numbers are never used during pre-training), judged with a linear probe."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

SEED = 2
torch.manual_seed(SEED)
torch.set_num_threads(1)
data = load_digits()
X = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
y = data.target
perm = torch.randperm(len(X))
tr, te = perm[:1300], perm[1300:]
few = tr[:100]


def augment(x):
    n = len(x)
    ang = (torch.rand(n) - 0.5) * 0.5
    sc = 1 + (torch.rand(n) - 0.5) * 0.3
    c, s = torch.cos(ang) * sc, torch.sin(ang) * sc
    sh = (torch.rand(n, 2) - 0.5) * 0.4
    theta = torch.stack([torch.stack([c, -s, sh[:, 0]], 1), torch.stack([s, c, sh[:, 1]], 1)], 1)
    x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
    return x + 0.1 * torch.randn_like(x)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


encoder = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 64))
online = nn.Sequential(encoder, mlp(64, 96, 32))
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)
predictor = mlp(32, 64, 32)
opt = torch.optim.Adam(list(online.parameters()) + list(predictor.parameters()), lr=2e-3, weight_decay=1e-6)


def probe():
    encoder.eval()
    with torch.no_grad():
        z = encoder(X).numpy()
    encoder.train()
    mu, sd = z[few].mean(0), z[few].std(0) + 1e-6
    z = (z - mu) / sd
    return LogisticRegression(max_iter=500, C=0.1).fit(z[few], y[few]).score(z[te], y[te])


print("probe on the untrained encoder: %.4f" % probe())
STEPS, k = 900, 0
for epoch in range(90):
    for idx in tr[torch.randperm(len(tr))].split(130):
        a, b = augment(X[idx]), augment(X[idx])
        with torch.no_grad():
            ta, tb = target(a), target(b)
        loss = -(F.cosine_similarity(predictor(online(a)), tb).mean()
                 + F.cosine_similarity(predictor(online(b)), ta).mean())
        opt.zero_grad()
        loss.backward()
        opt.step()
        k += 1
        m = 1 - 0.02 * (1 - k / STEPS)
        with torch.no_grad():
            for p, q in zip(online.parameters(), target.parameters()):
                q.lerp_(p, 1 - m)
    if epoch % 15 == 14:
        print(f"epoch {epoch + 1} loss {loss.item():.4f} momentum {m:.4f} probe {probe():.4f}")
print("linear probe, 100 labels: %.4f" % probe())
