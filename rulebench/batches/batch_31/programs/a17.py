"""Segment cell bodies in noisy microscope crops with a small U-Net (plain PyTorch)."""
import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
torch.set_num_threads(1)
S = 32


def make_pair():
    yy, xx = np.mgrid[:S, :S]
    mask = np.zeros((S, S), bool)
    for _ in range(np.random.randint(1, 4)):
        cy, cx = np.random.uniform(4, S - 4, 2)
        a, b = np.random.uniform(3, 6, 2)
        mask |= ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
    img = 0.3 + 0.3 * mask + 0.15 * (xx / S) + np.random.normal(0, 0.12, (S, S))
    return img.astype("float32"), mask.astype("float32")


def random_flip(a):
    if random.random() < 0.5:
        a = torch.flip(a, dims=[-1])
    if random.random() < 0.5:
        a = torch.flip(a, dims=[-2])
    return a


class Crops(Dataset):
    def __init__(self, n, augment):
        self.items = [make_pair() for _ in range(n)]
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = (torch.from_numpy(t)[None] for t in self.items[i])
        if self.augment:
            img = random_flip(img)
            mask = random_flip(mask)
        return img, mask


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = conv(1, 8), conv(8, 16), conv(16, 16)
        self.u2, self.u1 = conv(32, 16), conv(24, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        x = self.u2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        x = self.u1(torch.cat([F.interpolate(x, scale_factor=2), a], 1))
        return self.out(x)


def dice(logit, m):
    p = (logit > 0).float()
    return (2 * (p * m).sum() / (p.sum() + m.sum() + 1e-6)).item()


train_dl = DataLoader(Crops(320, True), batch_size=16, shuffle=True)
val_dl = DataLoader(Crops(160, False), batch_size=160)
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
bce = nn.BCEWithLogitsLoss()
for epoch in range(15):
    net.train()
    losses = []
    for img, mask in train_dl:
        loss = bce(net(img), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        img, mask = next(iter(val_dl))
        d = dice(net(img), mask)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f} val dice {d:.4f}")
print("final validation dice:", round(d, 4))
