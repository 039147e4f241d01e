# Contrastive pretraining (NT-Xent) on digits with pixel dropout / shift views, then a linear probe
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

torch.manual_seed(33)
ds = load_digits()
perm = torch.randperm(len(ds.target))
X = torch.tensor(ds.images, dtype=torch.float32)[perm] / 16
target = ds.target[perm.numpy()]


def view(x):
    x = torch.stack([torch.roll(im, tuple(s), (0, 1)) for im, s in zip(x, torch.randint(0, 2, (len(x), 2)).tolist())])
    x = x * (torch.rand_like(x) > 0.2) + 0.05 * torch.randn_like(x)
    return x.flatten(1)


enc = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))


def nt_xent(a, b, tau=0.2):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.t() / tau
    sim.fill_diagonal_(float("-inf"))
    n = len(a)
    target = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, target)


opt = torch.optim.Adam([*enc.parameters(), *proj.parameters()], lr=2e-3, weight_decay=1e-6)
for epoch in range(60):
    losses = []
    for b in torch.randperm(1400).split(200):
        loss = nt_xent(proj(enc(view(X[b]))), proj(enc(view(X[b]))))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 10 == 0:
        print(f"epoch {epoch} nt-xent {sum(losses) / len(losses):.4f}")

enc.eval()
with torch.no_grad():
    H = enc(X.flatten(1)).numpy()
probe = LogisticRegression(max_iter=2000).fit(H[:1400], target[:1400])
print("linear probe accuracy:", probe.score(H[1400:], target[1400:]))
