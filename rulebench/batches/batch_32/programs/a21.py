"""MoCo-v3-style contrastive pre-training on digits, linear probe at the end."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

SEED = 31
torch.manual_seed(SEED)
torch.set_num_threads(1)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = d.target
perm = torch.randperm(len(X))
tr, te = perm[:1300], perm[1300:]


def augment(x):
    x = F.pad(x, (1, 1, 1, 1))
    out = []
    for img in x.split(16):
        i, j = torch.randint(0, 3, (2,)).tolist()
        out.append(img[:, :, i:i + 8, j:j + 8])
    x = torch.cat(out)
    x = x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1))
    x = x * (torch.rand_like(x) > 0.1)
    return x + 0.05 * torch.randn_like(x)


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
                                   nn.Linear(512, 64))
        self.proj = nn.Sequential(nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        return F.normalize(self.proj(self.trunk(x)), dim=1)


q = Enc()
k = copy.deepcopy(q)
for p in k.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW(q.parameters(), lr=2e-3, weight_decay=1e-4)
TAU, M, B = 0.2, 0.98, 64

for it in range(1000):
    idx = tr[torch.randperm(len(tr))[:B]]
    zq = q(augment(X[idx]))
    with torch.no_grad():
        zk = k(augment(X[idx]))
    logits = zq @ zk.t() / TAU
    loss = F.cross_entropy(logits, torch.arange(B))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for pk, pq in zip(k.parameters(), q.parameters()):
            pk.mul_(M).add_(pq, alpha=1 - M)
    if it % 150 == 0:
        print(f"iter {it:4d} loss {loss.item():.3f}")

q.eval()
with torch.no_grad():
    feat = q.trunk(X).numpy()
few = tr[:200]
probe = LogisticRegression(max_iter=2000).fit(feat[few], y[few])
print("linear probe with 200 labels, test accuracy: %.4f" % probe.score(feat[te], y[te]))
