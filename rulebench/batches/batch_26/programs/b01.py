import random
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

random.seed(0); np.random.seed(0); torch.manual_seed(0)
torch.set_num_threads(1)


class Blobs(Dataset):
    """grey images with a few bright ellipses, the target is the ellipse mask"""

    def __init__(self, n, train):
        self.train = train
        self.items = []
        yy, xx = np.mgrid[:32, :32]
        for _ in range(n):
            m = np.zeros((32, 32), np.float32)
            for _ in range(np.random.randint(1, 4)):
                cy, cx = np.random.uniform(5, 27, 2)
                a, b = np.random.uniform(2, 7, 2)
                m[((yy - cy) / a) ** 2 + ((xx - cx) / b) ** 2 < 1] = 1
            img = 0.5 * m + 0.35 * np.random.randn(32, 32).astype(np.float32)
            self.items.append((img[None], m[None]))

    def __len__(self):
        return len(self.items)

    def augment(self, img, mask):
        if random.random() < 0.5:
            img, mask = img[:, :, ::-1], mask[:, :, ::-1]
        if random.random() < 0.5:
            img, mask = img[:, ::-1, :], mask[:, ::-1, :]
        k = random.randint(0, 3)
        img = np.rot90(img, k, axes=(1, 2))
        mask = np.rot90(mask, k, axes=(2, 1))
        return img, mask

    def __getitem__(self, i):
        img, mask = self.items[i]
        if self.train:
            img, mask = self.augment(img, mask)
        return torch.from_numpy(img.copy()), torch.from_numpy(mask.copy())


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class TinyUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = block(1, 8)
        self.d2 = block(8, 16)
        self.mid = block(16, 16)
        self.u1 = block(32, 8)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = F.interpolate(self.mid(F.max_pool2d(b, 2)), scale_factor=2)
        u = F.interpolate(self.u1(torch.cat([b, c], 1)), scale_factor=2)
        return self.out(torch.cat([a, u], 1))


def dice(logits, t):
    p = (logits > 0).float()
    return (2 * (p * t).sum() / (p.sum() + t.sum() + 1e-6)).item()


train_dl = DataLoader(Blobs(640, True), batch_size=16, shuffle=True)
val_dl = DataLoader(Blobs(160, False), batch_size=32)
net = TinyUNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for ep in range(12):
    net.train()
    run = []
    for x, y in train_dl:
        loss = F.binary_cross_entropy_with_logits(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        run.append(loss.item())
    net.eval()
    with torch.no_grad():
        d = np.mean([dice(net(x), y) for x, y in val_dl])
    print(f"[{ep}] train bce {np.mean(run):.4f}  val dice {d:.4f}")
print("final val dice:", round(float(d), 4))
