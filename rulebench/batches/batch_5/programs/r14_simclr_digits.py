"""SimCLR on 8x8 digits, evaluated by a linear probe."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

torch.manual_seed(21)
torch.set_num_threads(1)

X, y = load_digits(return_X_y=True)
X = torch.tensor(X / 16.0, dtype=torch.float32).reshape(-1, 1, 8, 8)
idx_tr, idx_te = train_test_split(range(len(X)), test_size=0.3, stratify=y, random_state=0)
Xtr, Xte, ytr, yte = X[idx_tr], X[idx_te], y[idx_tr], y[idx_te]


def augment(x):
    n = len(x)
    theta = torch.zeros(n, 2, 3)
    a = (torch.rand(n) - 0.5) * 0.7
    s = 1 + (torch.rand(n) - 0.5) * 0.4
    theta[:, 0, 0], theta[:, 0, 1] = s * torch.cos(a), -s * torch.sin(a)
    theta[:, 1, 0], theta[:, 1, 1] = s * torch.sin(a), s * torch.cos(a)
    theta[:, :, 2] = (torch.rand(n, 2) - 0.5) * 0.4
    x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
    return x * (0.7 + 0.6 * torch.rand(n, 1, 1, 1)) + 0.08 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                               nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                               nn.Flatten(), nn.Linear(32 * 16, 24))
        self.g = nn.Sequential(nn.ReLU(), nn.Linear(24, 24))

    def forward(self, x):
        h = self.f(x)
        return h, self.g(h)


def two_views(x):
    """(n, 1, 8, 8) -> (2n, 1, 8, 8), two random versions of every image"""
    return torch.stack([augment(x), augment(x)], dim=1).flatten(0, 1)


def nt_xent(z, tau=0.2):
    n = z.size(0) // 2
    z = F.normalize(z, dim=1)
    sim = z @ z.t() / tau
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    pos = torch.cat([sim.diagonal(n), sim.diagonal(-n)])
    return (torch.logsumexp(sim, dim=1) - pos).mean()


net = Encoder()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
B = 128
for epoch in range(1, 41):
    net.train()
    perm, tot = torch.randperm(len(Xtr)), 0.0
    nb = len(Xtr) // B
    for i in range(nb):
        xb = Xtr[perm[i * B:(i + 1) * B]]
        _, z = net(two_views(xb))
        loss = nt_xent(z)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    if epoch % 5 == 0:
        net.eval()
        with torch.no_grad():
            htr, hte = net(Xtr)[0].numpy(), net(Xte)[0].numpy()
        probe = LogisticRegression(max_iter=3000).fit(htr[:100], ytr[:100])
        print(f"epoch {epoch:3d}  loss {tot / nb:.4f}  probe acc {probe.score(hte, yte):.4f}")
