"""SCARF-like contrastive pre-training with feature corruption, then a linear probe."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.manual_seed(31); np.random.seed(31)
d = load_digits()
X = torch.tensor(d.data / 16.0, dtype=torch.float32)
y = d.target
perm = np.random.permutation(len(X))
X, y = X[perm], y[perm]
Xtr, Xte, ytr, yte = X[:1300], X[1300:], y[:1300], y[1300:]


def corrupt(x, rate=0.3):
    rnd = Xtr[torch.randint(len(Xtr), x.shape), torch.arange(x.size(1)).expand_as(x)]
    m = torch.rand_like(x) < rate
    return torch.where(m, rnd, x)


def nt_xent(z1, z2, tau=0.5):
    n = len(z1)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / tau
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


enc = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU())
proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
opt = torch.optim.Adam([*enc.parameters(), *proj.parameters()], lr=1e-3)
few = np.concatenate([np.where(ytr == c)[0][:5] for c in range(10)])


def probe():
    with torch.no_grad():
        a, b = enc(Xtr[few]).numpy(), enc(Xte).numpy()
    return LogisticRegression(max_iter=2000, C=10).fit(a, ytr[few]).score(b, yte)


print("probe accuracy before: %.4f" % probe())
for step in range(1000):
    x = Xtr[torch.randint(len(Xtr), (128,))]
    loss = nt_xent(proj(enc(corrupt(x))), proj(enc(corrupt(x))))
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 100 == 0:
        print(f"step {step} contrastive loss {loss.item():.4f}")
print("probe accuracy after: %.4f" % probe())
