"""BYOL on tabular views, then a linear probe.

online  : encoder -> projector -> predictor   (trained)
target  : encoder -> projector                (moving average of the online one)
"""
import copy
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

SEED = 8
torch.manual_seed(SEED)
gen = torch.Generator().manual_seed(SEED)

digits = load_digits()
X = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = digits.target
perm = torch.randperm(len(X), generator=gen)
n_unlab, n_probe = 1300, 200
pre, test = perm[:n_unlab], perm[n_unlab:]
probe = pre[:n_probe]


def augment(x):
    # random shift by up to one pixel, scale, noise, cut-out
    dx, dy = torch.randint(-1, 2, (2,), generator=gen).tolist()
    x = torch.roll(x, (dx, dy), dims=(2, 3))
    x = x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1, generator=gen))
    x = x + 0.1 * torch.randn(x.shape, generator=gen)
    keep = (torch.rand(len(x), 1, 8, 8, generator=gen) > 0.15).float()
    return x * keep


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


encoder = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(32, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
online = nn.Sequential(encoder, mlp(192, 128, 64))
predictor = mlp(64, 96, 64)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad = False

opt = torch.optim.AdamW([*online.parameters(), *predictor.parameters()], lr=1e-3, weight_decay=1e-4)


def regress(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


def linear_probe():
    encoder.eval()
    with torch.no_grad():
        f = encoder(X)
    encoder.train()
    clf = LogisticRegression(max_iter=500).fit(f[probe].numpy(), y[probe.numpy()])
    return clf.score(f[test].numpy(), y[test.numpy()]), f.std(0).mean().item()


total = 40 * (n_unlab // 128)
step = 0
print("probe before: acc %.4f" % linear_probe()[0])
for epoch in range(40):
    order = pre[torch.randperm(n_unlab, generator=gen)]
    for b in order.split(128):
        if len(b) < 128:
            continue
        v1, v2 = augment(X[b]), augment(X[b])
        with torch.no_grad():
            t1, t2 = target(v1), target(v2)
        loss = regress(predictor(online(v1)), t2) + regress(predictor(online(v2)), t1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tau = 0.98 + 0.02 * step / total
        with torch.no_grad():
            for po, pt in zip(online.parameters(), target.parameters()):
                pt.mul_(tau).add_(po, alpha=1 - tau)
        step += 1
    if epoch % 10 == 9:
        a, s = linear_probe()
        print(f"epoch {epoch+1} loss {loss.item():.4f} feature std {s:.3f} probe acc {a:.4f}")
print("linear probe test accuracy %.4f" % linear_probe()[0])
