# SimCLR on the sklearn digits, evaluated with a linear probe on few labels
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

SEED = 21
TEMPERATURE = 0.1
EPOCHS = 60
np.random.seed(SEED)
torch.manual_seed(SEED)

d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
tr, te = train_test_split(np.arange(len(X)), test_size=0.3, stratify=d.target, random_state=SEED)
few, _ = train_test_split(tr, train_size=50, stratify=d.target[tr], random_state=SEED)


def augment(x):
    """random shift, small rotation/scale, noise, erase one spot"""
    n = len(x)
    ang = (torch.rand(n) - 0.5) * 0.6
    sc = 1 + (torch.rand(n) - 0.5) * 0.4
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0], theta[:, 0, 1] = sc * ang.cos(), -sc * ang.sin()
    theta[:, 1, 0], theta[:, 1, 1] = sc * ang.sin(), sc * ang.cos()
    theta[:, :, 2] = (torch.rand(n, 2) - 0.5) * 0.5
    x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
    keep = torch.ones_like(x)
    r, c = torch.randint(0, 7, (n,)), torch.randint(0, 7, (n,))
    for dr in (0, 1):
        for dc in (0, 1):
            keep[torch.arange(n), 0, r + dr, c + dc] = 0
    return x * keep + 0.1 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                               nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
                               nn.Conv2d(64, dim, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
                               nn.Linear(dim * 4, dim))
        self.g = nn.Sequential(nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 32))

    def forward(self, x):
        h = self.f(x)
        return h, F.normalize(self.g(h), dim=-1)


def nt_xent(z1, z2, temperature=TEMPERATURE):
    z = torch.cat([z1, z2])
    n = len(z1)
    sim = z @ z.T * temperature
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(0, n)])
    return F.cross_entropy(sim, target)


def probe(enc):
    enc.eval()
    with torch.no_grad():
        h = enc(X)[0].numpy()
    enc.train()
    mu, sd = h[few].mean(0), h[few].std(0) + 1e-6
    h = (h - mu) / sd
    clf = LogisticRegression(C=0.1, max_iter=500).fit(h[few], d.target[few])
    return clf.score(h[te], d.target[te])


enc = Encoder()
opt = torch.optim.AdamW(enc.parameters(), lr=1e-3, weight_decay=1e-4)
print("probe with random features:", round(probe(enc), 3))
for epoch in range(1, EPOCHS + 1):
    losses = []
    for idx in torch.tensor(np.random.permutation(tr)).split(256):
        x = X[idx]
        _, z1 = enc(augment(x))
        _, z2 = enc(augment(x))
        loss = nt_xent(z1, z2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {np.mean(losses):.4f} linear probe (50 labels) {probe(enc):.3f}")
