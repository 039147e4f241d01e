# Self-supervised pretraining on 8x8 digits (BYOL style), then a linear probe
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

torch.manual_seed(17)

data = load_digits()
images = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
x_train, x_test, y_train, y_test = train_test_split(images, data.target, test_size=0.3, random_state=17, stratify=data.target)


def augment(x):
    n = x.size(0)
    angle = (torch.rand(n) - 0.5) * 0.6
    scale = 1 + (torch.rand(n) - 0.5) * 0.3
    shift = (torch.rand(n, 2) - 0.5) * 0.5
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0] = angle.cos() * scale
    theta[:, 0, 1] = -angle.sin() * scale
    theta[:, 1, 0] = angle.sin() * scale
    theta[:, 1, 1] = angle.cos() * scale
    theta[:, :, 2] = shift
    x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
    return x * (0.8 + 0.4 * torch.rand(n, 1, 1, 1)) + 0.05 * torch.randn_like(x)


def head(i, o):
    return nn.Sequential(nn.Linear(i, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, o))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Flatten(), nn.Linear(512, 64),
        )
        self.projector = head(64, 32)

    def forward(self, x):
        return self.projector(self.encoder(x))


online = Network()
predictor = head(32, 32)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)

optimizer = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=1e-3)
tau = 0.98


def regression_loss(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


def probe():
    online.eval()
    with torch.no_grad():
        a, b = online.encoder(x_train).numpy(), online.encoder(x_test).numpy()
    online.train()
    return LogisticRegression(max_iter=1000).fit(a[:100], y_train[:100]).score(b, y_test)


print(f"probe with 100 labels on the untrained encoder: {probe():.3f}")
for epoch in range(1, 17):
    perm = torch.randperm(len(x_train))
    total, steps = 0.0, 0
    for i in range(0, len(perm) - 127, 128):
        xb = x_train[perm[i : i + 128]]
        v1, v2 = augment(xb), augment(xb)
        p1, p2 = predictor(online(v1)), predictor(online(v2))
        with torch.no_grad():
            z1, z2 = target(v1), target(v2)
        loss = regression_loss(p1, z2) + regression_loss(p2, z1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for po, pt in zip(online.parameters(), target.parameters()):
                pt.mul_(tau).add_(po, alpha=1 - tau)
        total += loss.item()
        steps += 1
    if epoch % 4 == 0:
        print(f"epoch {epoch:2d}  loss {total / steps:.4f}")
print(f"probe with 100 labels after pretraining: {probe():.3f}")
