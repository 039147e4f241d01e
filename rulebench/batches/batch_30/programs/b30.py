# tiny U-Net-like segmentation of blobs, pytorch
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(7); np.random.seed(7); random.seed(7)


def draw(size=32):
    yy, xx = np.mgrid[:size, :size]
    img = np.random.normal(0, 0.35, (size, size))
    mask = np.zeros((size, size))
    for _ in range(np.random.randint(1, 4)):
        cy, cx = np.random.randint(4, size - 4, 2)
        ry, rx = np.random.uniform(2.5, 6, 2)
        m = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
        mask[m] = 1
        img[m] += np.random.uniform(0.6, 1.2)
    return img.astype('float32')[None], mask.astype('float32')[None]


class RandomHFlip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, t):
        if random.random() < self.p:
            return torch.flip(t, dims=[-1])
        return t


class Blobs(Dataset):
    def __init__(self, n, transform=None):
        self.items = [draw() for _ in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = (torch.from_numpy(a) for a in self.items[i])
        if self.transform is not None:
            img = self.transform(img)
            mask = self.transform(mask)
        return img, mask


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class MiniUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = block(1, 8), block(8, 16)
        self.u1 = block(24, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2)
        return self.out(self.u1(torch.cat([a, b], 1)))


def dice(logits, m):
    p = (torch.sigmoid(logits) > 0.5).float()
    return (2 * (p * m).sum() / (p.sum() + m.sum() + 1e-6)).item()


train_dl = DataLoader(Blobs(480, RandomHFlip(0.5)), batch_size=16, shuffle=True)
val_dl = DataLoader(Blobs(160), batch_size=80)
net = MiniUNet()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(12):
    net.train()
    tot = 0
    for img, mask in train_dl:
        loss = F.binary_cross_entropy_with_logits(net(img), mask)
        opt.zero_grad(); loss.backward(); opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        d = np.mean([dice(net(i), m) for i, m in val_dl])
    print(f'epoch {epoch:2d} loss {tot / len(train_dl):.4f} val dice {d:.4f}')
print(f'final dice: {d:.4f}')
