# Self-supervised features on digits: NT-Xent with two augmented views, then nearest-neighbour evaluation
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.linear_model import LogisticRegression

SEED = 0
TAU = 0.2
torch.manual_seed(SEED)

d = load_digits()
x = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = d.target
train, test = slice(0, 1300), slice(1300, None)


def augment(b):
    n = b.size(0)
    ang = (torch.rand(n) - 0.5) * 0.6
    s = 1 + (torch.rand(n) - 0.5) * 0.3
    t = (torch.rand(n, 2) - 0.5) * 0.35
    theta = torch.stack([torch.stack([s * ang.cos(), -ang.sin(), t[:, 0]], 1),
                         torch.stack([ang.sin(), s * ang.cos(), t[:, 1]], 1)], 1)
    b = F.grid_sample(b, F.affine_grid(theta, b.shape, align_corners=False), align_corners=False)
    b = b * (0.7 + 0.6 * torch.rand(n, 1, 1, 1))
    return b + 0.05 * torch.randn_like(b)


encoder = nn.Sequential(
    nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.Flatten(), nn.Linear(48 * 16, 64))
projector = nn.Sequential(nn.ReLU(), nn.Linear(64, 32))
opt = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=2e-3, weight_decay=1e-6)


def nt_xent(za, zb):
    z = F.normalize(torch.cat([za, zb]), dim=1)
    sim = z @ z.t() / TAU
    sim.fill_diagonal_(-1e9)
    n = len(za)
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


for epoch in range(25):
    total = 0.0
    perm = torch.randperm(1300)
    for idx in perm.split(128)[:-1]:
        b = x[train][idx]
        loss = nt_xent(projector(encoder(augment(b))), projector(encoder(augment(b))))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 4 == 0:
        print(f"epoch {epoch} nt-xent {total / 10:.4f}")

encoder.eval()
with torch.no_grad():
    f = F.normalize(encoder(x), dim=1).numpy()
knn = KNeighborsClassifier(5).fit(f[train], y[train])
lin = LogisticRegression(max_iter=2000).fit(f[train], y[train])
print("knn accuracy %.4f, linear probe %.4f" % (knn.score(f[test], y[test]), lin.score(f[test], y[test])))
