"""Self-supervised style pretext (rotation) -> frozen trunk -> rare-defect detector (4 % positives)."""
import numpy as np
import torch
from torch import nn
from sklearn.metrics import average_precision_score

torch.manual_seed(13)
rng = np.random.default_rng(13)


def part(defect):
    yy, xx = np.mgrid[:16, :16]
    img = 0.5 * (yy / 15.0) + 0.3 * np.sin(xx / 2.0 + rng.uniform(0, 6)) + rng.normal(0, 0.1, (16, 16))
    if defect:
        r, c = rng.integers(3, 12, 2)
        img[r - 1:r + 2, c - 1:c + 2] += 0.9 * np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    return img.astype(np.float32)


plain = torch.from_numpy(np.stack([part(rng.random() < 0.3) for _ in range(1200)]))[:, None]
yl = (rng.random(2000) < 0.04).astype(np.float32)
xl = torch.from_numpy(np.stack([part(b) for b in yl]))[:, None]
yl = torch.from_numpy(yl)
xtr, ytr, xte, yte = xl[:1300], yl[:1300], xl[1300:], yl[1300:]

trunk = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU())
rot = nn.Sequential(nn.AdaptiveMaxPool2d(4), nn.Flatten(), nn.Linear(24 * 16, 4))
opt = torch.optim.Adam([*trunk.parameters(), *rot.parameters()], lr=2e-3)
for step in range(120):
    x = plain[torch.randint(len(plain), (32,))]
    k = torch.randint(0, 4, (32,))
    x = torch.stack([torch.rot90(a, int(r), (1, 2)) for a, r in zip(x, k)])
    loss = nn.functional.cross_entropy(rot(trunk(x)), k)
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 40 == 0:
        print(f"pretext step {step} loss {loss.item():.4f}")

trunk.requires_grad_(False).eval()
head = nn.Sequential(nn.Conv2d(24, 24, 1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(24, 1))
with torch.no_grad():
    ftr, fte = trunk(xtr), trunk(xte)
opt = torch.optim.Adam(head.parameters(), lr=5e-3)


def focal(logit, t, gamma=2.0, alpha=0.75):
    bce = nn.functional.binary_cross_entropy_with_logits(logit, t, reduction="none")
    pt = torch.exp(-bce)
    return ((alpha * t + (1 - alpha) * (1 - t)) * (1 - pt) ** gamma * bce).sum() / t.sum().clamp(min=1)


pos, neg = torch.where(ytr == 1)[0], torch.where(ytr == 0)[0]
for step in range(400):
    idx = torch.cat([pos[torch.randint(len(pos), (8,))], neg[torch.randint(len(neg), (56,))]])
    loss = focal(head(ftr[idx]).squeeze(1), ytr[idx])
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 80 == 0 or step == 399:
        with torch.no_grad():
            ap = average_precision_score(yte.numpy(), head(fte).squeeze(1).numpy())
        print(f"head step {step} focal {loss.item():.4f} test average precision {ap:.4f} (prevalence {yte.mean():.3f})")
