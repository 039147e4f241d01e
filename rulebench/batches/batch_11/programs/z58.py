"""Small U-Net for binary blob segmentation."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class BlobDataset(Dataset):
    def __init__(self, n, size=32, seed=0, augment=False):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[0:size, 0:size]
        self.images, self.masks = [], []
        for _ in range(n):
            mask = np.zeros((size, size), bool)
            for _ in range(rng.integers(1, 4)):
                cx, cy = rng.uniform(5, size - 5, 2)
                a, b = rng.uniform(2.5, 6, 2)
                mask |= ((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 < 1
            img = 0.45 * mask + rng.normal(0, 0.35, mask.shape)
            self.images.append(img.astype(np.float32))
            self.masks.append(mask.astype(np.float32))
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i])[None]
        mask = torch.from_numpy(self.masks[i])[None]
        if self.augment and torch.rand(1).item() < 0.5:
            img, mask = img.flip(-1), mask.flip(-1)
        return img, mask


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, base), block(base, base * 2), block(base * 2, base * 4)
        self.up2 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.u2 = block(base * 4, base * 2)
        self.up1 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.u1 = block(base * 2, base)
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        c1 = self.d1(x)
        c2 = self.d2(F.max_pool2d(c1, 2))
        m = self.mid(F.max_pool2d(c2, 2))
        x = self.u2(torch.cat([self.up2(m), c2], 1))
        x = self.u1(torch.cat([self.up1(x), c1], 1))
        return self.out(x)


def dice_loss(logits, target, eps=1.0):
    p = torch.sigmoid(logits)
    inter = (p * target).sum((1, 2, 3))
    return (1 - (2 * inter + eps) / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)) + eps)).mean()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    inter = union = 0.0
    for x, y in loader:
        pred = model(x) > 0
        inter += (pred & (y > 0.5)).sum().item()
        union += (pred | (y > 0.5)).sum().item()
    return inter / max(union, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--seed", type=int, default=3)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    train_loader = DataLoader(BlobDataset(256, seed=1, augment=True), args.batch_size, shuffle=True)
    val_loader = DataLoader(BlobDataset(96, seed=2), 32)
    model = UNet()
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            logits = model(x)
            loss = F.binary_cross_entropy_with_logits(logits, y) + dice_loss(logits, y)
            loss.backward()
            opt.step()
            total += loss.item()
        sched.step()
        print(f"epoch {epoch} loss {total / len(train_loader):.4f} val IoU {evaluate(model, val_loader):.4f}")


if __name__ == "__main__":
    main()
