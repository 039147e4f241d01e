import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
np.random.seed(0)
SIZE = 32


def draw(rng):
    """Image with one bright ellipse (the object) and a few thin distractor lines."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    cx, cy = rng.uniform(7, SIZE - 7, 2)
    rx, ry = rng.uniform(3, 7, 2)
    mask = (((xx - cx) / rx) ** 2 + ((yy - cy) / ry) ** 2 < 1).astype(np.float32)
    img = 0.5 * mask + rng.normal(0, 0.25, (SIZE, SIZE))
    for _ in range(3):
        if rng.random() < 0.5:
            img[rng.integers(SIZE), :] += 0.5
        else:
            img[:, rng.integers(SIZE)] += 0.5
    return img.astype(np.float32)[None], mask[None]


class EllipseDataset(Dataset):
    def __init__(self, n, seed, augment=False):
        rng = np.random.default_rng(seed)
        self.items = [draw(rng) for _ in range(n)]
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def random_flip(self, t):
        if torch.rand(1).item() < 0.5:
            t = torch.flip(t, dims=[-1])
        if torch.rand(1).item() < 0.5:
            t = torch.flip(t, dims=[-2])
        return t

    def __getitem__(self, i):
        img, mask = (torch.from_numpy(a) for a in self.items[i])
        if self.augment:
            img = self.random_flip(img)
            mask = self.random_flip(mask)
        return img, mask


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class SmallUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.u2, self.u1 = block(6 * c, 2 * c), block(3 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        u = self.u2(torch.cat([F.interpolate(m, scale_factor=2), b], 1))
        u = self.u1(torch.cat([F.interpolate(u, scale_factor=2), a], 1))
        return self.out(u)


def dice_loss(logits, target, eps=1.0):
    p = torch.sigmoid(logits).flatten(1)
    t = target.flatten(1)
    return (1 - (2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


train_dl = DataLoader(EllipseDataset(480, 1, augment=True), batch_size=32, shuffle=True)
val_dl = DataLoader(EllipseDataset(120, 2), batch_size=60)
net = SmallUNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(12):
    net.train()
    tot = 0.0
    for img, mask in train_dl:
        logits = net(img)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice_loss(logits, mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(img)
    net.eval()
    inter = union = 0.0
    with torch.no_grad():
        for img, mask in val_dl:
            pred = (net(img) > 0).float()
            inter += (pred * mask).sum().item()
            union += ((pred + mask) > 0).sum().item()
    print(f"epoch {epoch:2d}  train loss {tot / 480:.4f}  val IoU {inter / max(union, 1):.4f}")
