import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SEED = 1234
random.seed(SEED)
np.random.seed(SEED)
torch.manual_seed(SEED)
torch.set_num_threads(1)


def make_image(rng, size=32):
    img = rng.normal(0.3, 0.12, (size, size)).astype(np.float32)
    mask = np.zeros((size, size), np.float32)
    yy, xx = np.mgrid[:size, :size]
    for _ in range(rng.integers(1, 4)):
        cy, cx = rng.uniform(5, size - 5, 2)
        a, b = rng.uniform(3, 7, 2)
        inside = ((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1
        mask[inside] = 1
        img[inside] += 0.35
    return img, mask


class Flip:
    def __init__(self, p=0.5):
        self.p = p

    def __call__(self, t):
        if random.random() < self.p:
            t = torch.flip(t, dims=[-1])
        if random.random() < self.p:
            t = torch.flip(t, dims=[-2])
        return t


class BlobDataset(Dataset):
    def __init__(self, n, seed, transform=None):
        rng = np.random.default_rng(seed)
        self.items = [make_image(rng) for _ in range(n)]
        self.transform = transform

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = self.items[i]
        img, mask = torch.from_numpy(img)[None], torch.from_numpy(mask)[None]
        if self.transform is not None:
            img = self.transform(img)
            mask = self.transform(mask)
        return img, mask


class SmallUNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                                 nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.d1, self.d2 = block(1, c), block(c, 2 * c)
        self.u1 = block(3 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="nearest")
        return self.out(self.u1(torch.cat([a, b], 1)))


def dice_score(logits, y):
    p = (logits > 0).float()
    return (2 * (p * y).sum() / (p.sum() + y.sum() + 1e-6)).item()


train_loader = DataLoader(BlobDataset(400, 0, Flip()), batch_size=16, shuffle=True)
val_loader = DataLoader(BlobDataset(100, 1), batch_size=50)
net = SmallUNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(8):
    net.train()
    tot, n = 0.0, 0
    for x, y in train_loader:
        opt.zero_grad()
        loss = F.binary_cross_entropy_with_logits(net(x), y)
        loss.backward()
        opt.step()
        tot, n = tot + loss.item(), n + 1
    net.eval()
    with torch.no_grad():
        d = np.mean([dice_score(net(x), y) for x, y in val_loader])
    print(f"epoch {epoch + 1}: train loss {tot / n:.4f}  val dice {d:.4f}")
