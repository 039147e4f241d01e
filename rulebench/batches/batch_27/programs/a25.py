import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

# BYOL, small scale. Labels are touched by the linear probe only.
torch.manual_seed(19)
d = load_digits()
X = torch.tensor(d.images / 16., dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
idx = torch.randperm(len(X)); X, y = X[idx], y[idx]
Xu, yu, Xt, yt = X[:1400], y[:1400], X[1400:], y[1400:]


def view(x):
    x = F.pad(x, (1, 1, 1, 1))
    n = len(x)
    ox, oy = torch.randint(0, 3, (n,)), torch.randint(0, 3, (n,))
    r = torch.arange(8)
    x = x[torch.arange(n)[:, None, None], 0, (oy[:, None] + r)[:, :, None], (ox[:, None] + r)[:, None, :]]
    x = x * (torch.rand(n, 1, 1) * .6 + .7) + .1 * torch.randn_like(x)
    drop = torch.rand(n, 8, 8) < .1
    return x.masked_fill(drop, 0.).unsqueeze(1)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


backbone = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
                         nn.Linear(512, 64))
online = nn.Sequential(backbone, mlp(64, 128, 32))
predictor = mlp(32, 64, 32)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)

opt = torch.optim.Adam(list(online.parameters()) + list(predictor.parameters()), lr=1e-3, weight_decay=1e-5)
TAU = 0.99


def regress(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


for step in range(900):
    xb = Xu[torch.randint(len(Xu), (128,))]
    a, b = view(xb), view(xb)
    with torch.no_grad():
        ta, tb = target(a), target(b)
    loss = regress(predictor(online(a)), tb) + regress(predictor(online(b)), ta)
    opt.zero_grad(); loss.backward(); opt.step()
    with torch.no_grad():
        for p, q in zip(online.parameters(), target.parameters()):
            q.mul_(TAU).add_(p, alpha=1 - TAU)
    if step % 90 == 0:
        z = F.normalize(ta, dim=-1)
        print(f'step {step} loss {loss.item():.4f} spread {z.std(0).mean().item():.4f}')

# probe on digits that are moved and damaged in the same way
Mu, Mt = view(Xu), view(Xt)
fresh = nn.Sequential(*[copy.deepcopy(m) for m in backbone])
for m in fresh.modules():
    if hasattr(m, 'reset_parameters'):
        m.reset_parameters()
for _ in range(60):
    fresh(Mu)
few = slice(0, 200)


def probe(f):
    with torch.no_grad():
        a, b = f(Mu[few]), f(Mt)
    return LogisticRegression(max_iter=3000).fit(a, yu[few]).score(b, yt)


backbone.eval(), fresh.eval()
print('probe accuracy, 200 labels: raw pixels %.4f, untrained net %.4f, BYOL features %.4f' % (
    probe(nn.Flatten()), probe(fresh), probe(backbone)))
