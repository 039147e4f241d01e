"""Binary segmentation of blobs with a small U-Net."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(3)
np.random.seed(3)


class BlobDataset(Dataset):
    def __init__(self, n, size=32, seed=0):
        rng = np.random.RandomState(seed)
        yy, xx = np.mgrid[0:size, 0:size]
        self.images, self.masks = [], []
        for _ in range(n):
            mask = np.zeros((size, size), dtype=bool)
            for _ in range(rng.randint(1, 4)):
                cy, cx = rng.randint(5, size - 5, 2)
                ry, rx = rng.randint(3, 7, 2)
                mask |= ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 <= 1
            img = mask * rng.uniform(0.6, 1.0) + rng.normal(0, 0.35, (size, size))
            self.images.append(img.astype(np.float32)[None])
            self.masks.append(mask.astype(np.float32)[None])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def double_conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down1 = double_conv(1, c)
        self.down2 = double_conv(c, 2 * c)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.conv = double_conv(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(self.pool(d1))
        u = torch.cat([self.up(d2), d1], dim=1)
        return self.out(self.conv(u))


class DiceLoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, target):
        prob = torch.sigmoid(logits).flatten(1)
        target = target.flatten(1)
        inter = (prob * target).sum(1)
        dice = (2 * inter + self.smooth) / (prob.sum(1) + target.sum(1) + self.smooth)
        return dice.mean()


def iou(logits, target):
    pred = logits > 0
    target = target > 0.5
    inter = (pred & target).sum().item()
    union = (pred | target).sum().item()
    return inter / max(union, 1)


train_loader = DataLoader(BlobDataset(640, seed=1), batch_size=16, shuffle=True)
val_loader = DataLoader(BlobDataset(128, seed=2), batch_size=64)

net = UNet()
criterion = DiceLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(4):
    net.train()
    running = 0.0
    for img, mask in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(img), mask)
        loss.backward()
        optimizer.step()
        running += loss.item()
    net.eval()
    with torch.no_grad():
        score = np.mean([iou(net(img), mask) for img, mask in val_loader])
    print(f"epoch {epoch + 1} dice loss {running / len(train_loader):.4f} val IoU {score:.4f}")
