import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(5)
ds = load_digits()
X = torch.tensor(ds.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(ds.target)
perm = torch.randperm(len(X))
tr, te = perm[:1400], perm[1400:]


def augment(x):
    n = x.size(0)
    ang = (torch.rand(n) - 0.5) * 0.6
    sc = 1 + (torch.rand(n) - 0.5) * 0.3
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0] = torch.cos(ang) * sc
    theta[:, 0, 1] = -torch.sin(ang)
    theta[:, 1, 0] = torch.sin(ang)
    theta[:, 1, 1] = torch.cos(ang) * sc
    theta[:, :, 2] = (torch.rand(n, 2) - 0.5) * 0.4
    x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
    return x + 0.1 * torch.randn_like(x)


encoder = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 48, 3, stride=2, padding=1), nn.ReLU(),
                        nn.Flatten(), nn.Linear(48 * 16, 96), nn.ReLU())
projector = nn.Sequential(nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 32))
params = list(encoder.parameters()) + list(projector.parameters())
opt = torch.optim.Adam(params, lr=1e-3)
tau, B = 0.2, 128


def nt_xent(a, b):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.t() / tau
    n = a.size(0)
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    return F.cross_entropy(sim, target)


for step in range(500):
    idx = tr[torch.randint(len(tr), (B,))]
    xb = X[idx]
    loss = nt_xent(projector(encoder(augment(xb))), projector(encoder(augment(xb))))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(f"pretrain {step} nt-xent {loss.item():.3f}")

encoder.requires_grad_(False)
encoder.eval()
with torch.no_grad():
    f_tr, f_te = encoder(X[tr]), encoder(X[te])
mean, std = f_tr.mean(0), f_tr.std(0) + 1e-3
f_tr, f_te = (f_tr - mean) / std, (f_te - mean) / std
probe = nn.Linear(96, 10)
popt = torch.optim.SGD(probe.parameters(), lr=0.5, weight_decay=1e-3)
for step in range(300):
    loss = F.cross_entropy(probe(f_tr), y[tr])
    popt.zero_grad()
    loss.backward()
    popt.step()
    if step % 100 == 99:
        acc = (probe(f_te).argmax(1) == y[te]).float().mean().item()
        print(f"probe {step+1} loss {loss.item():.3f} test acc {acc:.3f}")
