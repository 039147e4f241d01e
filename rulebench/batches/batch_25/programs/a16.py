"""Tiny U-Net for cell-like blobs. Synthetic microscopy, 32x32."""
import random
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

seed = 11
random.seed(seed); np.random.seed(seed); torch.manual_seed(seed)


def draw(size=32):
    yy, xx = np.mgrid[:size, :size]
    img = np.random.normal(0.25, 0.12, (size, size))
    mask = np.zeros((size, size), bool)
    for _ in range(np.random.randint(1, 4)):
        cy, cx = np.random.uniform(5, size - 5, 2)
        a, b = np.random.uniform(3, 7, 2)
        th = np.random.uniform(0, np.pi)
        u = (xx - cx) * np.cos(th) + (yy - cy) * np.sin(th)
        v = -(xx - cx) * np.sin(th) + (yy - cy) * np.cos(th)
        m = (u / a) ** 2 + (v / b) ** 2 < 1
        mask |= m
        img[m] += np.random.uniform(0.15, 0.35)
    return img.astype(np.float32), mask.astype(np.float32)


class Cells(Dataset):
    def __init__(self, n, augment=False):
        items = [draw() for _ in range(n)]
        self.images = np.stack([i for i, _ in items])
        self.masks = np.stack([m for _, m in items])
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i])[None]
        mask = torch.from_numpy(self.masks[i])[None]
        if self.augment:
            img = self.jitter(img)
            if random.random() < 0.5:
                img = torch.flip(img, dims=[-1])
        return img, mask

    @staticmethod
    def jitter(img):
        gain = random.uniform(0.9, 1.1)
        return (img * gain + random.uniform(-0.03, 0.03)).clamp(0, 1)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2 = block(1, c), block(c, 2 * c)
        self.mid = block(2 * c, 4 * c)
        self.u2, self.u1 = block(6 * c, 2 * c), block(3 * c, c)
        self.head = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        y = self.u2(torch.cat([F.interpolate(m, scale_factor=2), b], 1))
        y = self.u1(torch.cat([F.interpolate(y, scale_factor=2), a], 1))
        return self.head(y)


def dice_loss(logits, target):
    p = torch.sigmoid(logits)
    inter = (p * target).sum((1, 2, 3))
    return (1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)).mean()


@torch.no_grad()
def iou(net, loader):
    net.eval()
    inter = union = 0
    for x, m in loader:
        p = net(x) > 0
        inter += (p & (m > 0.5)).sum().item()
        union += (p | (m > 0.5)).sum().item()
    return inter / union


train = DataLoader(Cells(480, augment=True), batch_size=16, shuffle=True)
val = DataLoader(Cells(160), batch_size=32)
net = UNet()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for ep in range(8):
    net.train()
    tot = 0
    for x, m in train:
        logits = net(x)
        loss = F.binary_cross_entropy_with_logits(logits, m) + dice_loss(logits, m)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    print("epoch", ep, "train loss %.4f" % (tot / len(train)), "val IoU %.4f" % iou(net, val))
print("final IoU on validation:", round(iou(net, val), 4))
