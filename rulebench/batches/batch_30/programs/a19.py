# Keypoint net: find the (x, y) of the cup handle in a 24x24 picture
import torch
import torch.nn as nn
import numpy as np
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(3); np.random.seed(3)


class Cups(Dataset):
    def __init__(self, n, train=True):
        rng = np.random.default_rng(3 if train else 4)
        yy, xx = np.mgrid[0:24, 0:24]
        imgs, pts = [], []
        for _ in range(n):
            cx, cy, r = rng.uniform(8, 16), rng.uniform(8, 16), rng.uniform(3, 5)
            ang = rng.uniform(0, 2 * np.pi)
            hx, hy = cx + (r + 1.5) * np.cos(ang), cy + (r + 1.5) * np.sin(ang)
            body = ((xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2) * 0.6
            handle = np.exp(-((xx - hx) ** 2 + (yy - hy) ** 2) / 2.0)
            imgs.append(body + handle + 0.1 * rng.normal(size=(24, 24)))
            pts.append((hx / 23, hy / 23))
        self.imgs = torch.tensor(np.array(imgs), dtype=torch.float32).unsqueeze(1)
        self.pts = torch.tensor(pts, dtype=torch.float32)
        self.train = train

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, i):
        img, pt = self.imgs[i], self.pts[i].clone()
        if self.train:
            img = img + 0.05 * torch.randn_like(img)      # sensor noise
            if torch.rand(1).item() < 0.5:
                img = torch.flip(img, dims=[2])           # mirror
            img = img * (0.8 + 0.4 * torch.rand(1))       # brightness
        return img, pt


train_dl = DataLoader(Cups(1500), batch_size=50, shuffle=True)
test_dl = DataLoader(Cups(400, train=False), batch_size=400)

net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(24 * 36, 64), nn.ReLU(), nn.Linear(64, 2), nn.Sigmoid())
optimizer = torch.optim.Adam(net.parameters(), lr=1.5e-3)
loss_fn = nn.SmoothL1Loss(beta=0.05)

for epoch in range(16):
    net.train()
    s = 0
    for img, pt in train_dl:
        loss = loss_fn(net(img), pt)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        s += loss.item()
    if epoch % 3 == 0:
        print(f"epoch {epoch:2d}  loss {s / len(train_dl):.5f}")

net.eval()
with torch.no_grad():
    img, pt = next(iter(test_dl))
    err = ((net(img) - pt) * 23).norm(dim=1)
print("mean error in pixels: %.3f, within 2 px: %.3f" % (err.mean().item(), (err < 2).float().mean().item()))
