import copy
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

# BYOL on 8x8 digits: no labels, no negatives. Labels are only for the probe at the end.
torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X_tr, X_te, y_tr, y_te = train_test_split(X / 16.0, y, test_size=0.3, stratify=y, random_state=0)
X_tr = torch.tensor(X_tr, dtype=torch.float32).view(-1, 1, 8, 8)
X_te = torch.tensor(X_te, dtype=torch.float32).view(-1, 1, 8, 8)


def augment(x):
    b = len(x)
    th = torch.zeros(b, 2, 3)
    ang = (torch.rand(b) - 0.5) * 0.6
    s = 1 + (torch.rand(b) - 0.5) * 0.4
    th[:, 0, 0], th[:, 0, 1] = s * ang.cos(), -s * ang.sin()
    th[:, 1, 0], th[:, 1, 1] = s * ang.sin(), s * ang.cos()
    th[:, :, 2] = (torch.rand(b, 2) - 0.5) * 0.5
    x = F.grid_sample(x, F.affine_grid(th, x.shape, align_corners=False), align_corners=False)
    return x * (0.7 + 0.6 * torch.rand(b, 1, 1, 1)) + 0.08 * torch.randn_like(x)


def mlp(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


encoder = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
                        nn.Conv2d(24, 48, 3, padding=1, stride=2), nn.BatchNorm2d(48), nn.ReLU(),
                        nn.Conv2d(48, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
                        nn.Flatten(), nn.Linear(64 * 16, 64))
online = nn.Sequential(encoder, mlp(64, 128, 32))
predictor = mlp(32, 64, 32)
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW([*online.parameters(), *predictor.parameters()], lr=1e-3, weight_decay=1e-4)


def regress(p, z):
    return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()


@torch.no_grad()
def probe(enc):
    enc.eval()
    a, b = enc(X_tr).numpy(), enc(X_te).numpy()
    enc.train()
    few = np.concatenate([np.where(y_tr == c)[0][:5] for c in range(10)])
    return LogisticRegression(max_iter=2000).fit(a[few], y_tr[few]).score(b, y_te)


print("probe with 5 labels per class, untrained encoder: %.3f" % probe(copy.deepcopy(encoder)))
EPOCHS, BS = 50, 128
step, total = 0, EPOCHS * (len(X_tr) // BS)
for ep in range(EPOCHS):
    for idx in torch.randperm(len(X_tr))[: BS * (len(X_tr) // BS)].view(-1, BS):
        a, b = augment(X_tr[idx]), augment(X_tr[idx])
        with torch.no_grad():
            za, zb = target(a), target(b)
        loss = regress(predictor(online(a)), zb) + regress(predictor(online(b)), za)
        opt.zero_grad(); loss.backward(); opt.step()
        m = 1 - 0.03 * (np.cos(np.pi * step / total) + 1) / 2
        with torch.no_grad():
            for pt, po in zip(target.parameters(), online.parameters()):
                pt.mul_(m).add_(po, alpha=1 - m)
        step += 1
    if ep % 10 == 0:
        with torch.no_grad():
            std = F.normalize(za, dim=1).std(0).mean().item()
        print(f"epoch {ep} loss {loss.item():.4f} std of targets {std:.4f}")
print("probe with 5 labels per class, after: %.3f" % probe(encoder))
