import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(3)
np.random.seed(3)
SIZE = 24


def draw(rng):
    """One grey image with a bright blob and a striped distractor, plus the blob's mask."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    img = rng.normal(0.3, 0.12, (SIZE, SIZE))
    cx, cy = rng.uniform(4, SIZE - 4, 2)
    a, b = rng.uniform(3, 7, 2)
    mask = ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 < 1
    img[mask] += 0.45
    r = rng.integers(0, SIZE - 4)
    img[r:r + 2, :] += 0.35
    return img.astype(np.float32), mask.astype(np.float32)


def random_flip(t):
    if torch.rand(1) < 0.5:
        t = t.flip(-1)
    if torch.rand(1) < 0.5:
        t = t.flip(-2)
    return t


class BlobDataset(Dataset):
    def __init__(self, n, seed, augment=False):
        rng = np.random.default_rng(seed)
        self.items = [draw(rng) for _ in range(n)]
        self.augment = random_flip if augment else None

    def __len__(self):
        return len(self.items)

    def __getitem__(self, idx):
        img, mask = self.items[idx]
        img = torch.from_numpy(img)[None]
        mask = torch.from_numpy(mask)[None]
        if self.augment is not None:
            img = self.augment(img)
            mask = self.augment(mask)
        return (img - 0.4) / 0.25, mask


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.up2 = nn.ConvTranspose2d(4 * c, 2 * c, 2, stride=2)
        self.u2 = block(4 * c, 2 * c)
        self.up1 = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.u1 = block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        y = self.u2(torch.cat([self.up2(m), b], 1))
        y = self.u1(torch.cat([self.up1(y), a], 1))
        return self.out(y)


def dice_bce(logits, target):
    p = torch.sigmoid(logits)
    inter = (p * target).sum((1, 2, 3))
    dice = 1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logits, target) + dice.mean()


@torch.no_grad()
def iou(model, loader):
    model.eval()
    inter = union = 0
    for x, y in loader:
        p = model(x) > 0
        t = y > 0.5
        inter += (p & t).sum().item()
        union += (p | t).sum().item()
    return inter / max(union, 1)


train = DataLoader(BlobDataset(384, 0, augment=True), batch_size=24, shuffle=True)
val = DataLoader(BlobDataset(96, 1), batch_size=48)
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(8):
    net.train()
    tot = 0.0
    for x, y in train:
        opt.zero_grad()
        loss = dice_bce(net(x), y)
        loss.backward()
        opt.step()
        tot += loss.item() * len(x)
    print(f"epoch {epoch + 1}  train loss {tot / 384:.4f}  val IoU {iou(net, val):.4f}")
