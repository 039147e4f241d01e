"""Small U-Net that separates discs and bars from background on synthetic 32x32 images."""
import argparse
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SEED = 99


def draw(n, rng):
    yy, xx = np.mgrid[:32, :32]
    imgs, masks = np.zeros((n, 1, 32, 32), "float32"), np.zeros((n, 32, 32), "int64")
    for k in range(n):
        img = rng.normal(0.2, 0.12, (32, 32))
        for _ in range(2):
            cy, cx, r = rng.integers(5, 27), rng.integers(5, 27), rng.integers(3, 6)
            disc = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
            img[disc] += 0.45
            masks[k][disc] = 1
        cy, cx = rng.integers(4, 28), rng.integers(8, 24)
        bar = (abs(yy - cy) <= 1) & (abs(xx - cx) <= 8)
        img[bar] += 0.45
        masks[k][bar] = 2
        imgs[k, 0] = img
    return imgs, masks


class Shapes(Dataset):
    def __init__(self, imgs, masks, train):
        self.imgs, self.masks, self.train = imgs, masks, train

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, i):
        img, mask = torch.from_numpy(self.imgs[i]), torch.from_numpy(self.masks[i])
        if self.train:
            if torch.rand(1) < 0.5:
                img, mask = img.flip(-1), mask.flip(-1)
            if torch.rand(1) < 0.5:
                img = img.flip(-2)
            img = img * (0.9 + 0.2 * torch.rand(1)) + 0.03 * torch.randn_like(img)
        return (img - 0.3) / 0.25, mask


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c=12, classes=3):
        super().__init__()
        self.d1, self.d2, self.d3 = conv(1, c), conv(c, 2 * c), conv(2 * c, 4 * c)
        self.u2, self.u1 = nn.ConvTranspose2d(4 * c, 2 * c, 2, 2), nn.ConvTranspose2d(2 * c, c, 2, 2)
        self.c2, self.c1, self.out = conv(4 * c, 2 * c), conv(2 * c, c), nn.Conv2d(c, classes, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        h = self.d3(F.max_pool2d(b, 2))
        h = self.c2(torch.cat([self.u2(h), b], 1))
        return self.out(self.c1(torch.cat([self.u1(h), a], 1)))


def dice_loss(logits, y):
    p, t = logits.softmax(1), F.one_hot(y, 3).permute(0, 3, 1, 2).float()
    inter, tot = (p * t).sum((0, 2, 3)), (p + t).sum((0, 2, 3))
    return 1 - (2 * inter / (tot + 1e-6)).mean()


@torch.no_grad()
def mean_iou(model, loader):
    model.eval()
    inter, union = torch.zeros(3), torch.zeros(3)
    for x, y in loader:
        p = model(x).argmax(1)
        for c in range(3):
            inter[c] += ((p == c) & (y == c)).sum()
            union[c] += ((p == c) | (y == c)).sum()
    model.train()
    return (inter / union.clamp(min=1)).tolist()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(SEED)
    rng = np.random.default_rng(SEED)
    train, val = Shapes(*draw(500, rng), True), Shapes(*draw(150, rng), False)
    tl, vl = DataLoader(train, 25, shuffle=True), DataLoader(val, 50)
    model = UNet()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(tl))
    for ep in range(args.epochs):
        run = 0.0
        for x, y in tl:
            logits = model(x)
            loss = F.cross_entropy(logits, y) + dice_loss(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            run += loss.item() / len(tl)
        iou = mean_iou(model, vl)
        print(f"epoch {ep} loss {run:.3f} IoU bg/disc/bar {iou[0]:.3f} {iou[1]:.3f} {iou[2]:.3f}")


if __name__ == "__main__":
    main()
