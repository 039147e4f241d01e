# Binary segmentation of blobs with a small U-Net
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import TensorDataset, DataLoader

np.random.seed(0)
torch.manual_seed(0)
SIZE = 32


def make_sample():
    yy, xx = np.mgrid[:SIZE, :SIZE]
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    for _ in range(np.random.randint(1, 4)):
        cy, cx = np.random.uniform(6, SIZE - 6, 2)
        ry, rx = np.random.uniform(3, 7, 2)
        mask |= ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
    img = mask * 0.8 + np.random.normal(0, 0.5, mask.shape) + np.random.uniform(-0.2, 0.2)
    return img.astype(np.float32), mask.astype(np.float32)


samples = [make_sample() for _ in range(500)]
imgs = torch.tensor(np.stack([s[0] for s in samples]))[:, None]
masks = torch.tensor(np.stack([s[1] for s in samples]))[:, None]
train_loader = DataLoader(TensorDataset(imgs[:400], masks[:400]), batch_size=16, shuffle=True)
val_imgs, val_masks = imgs[400:], masks[400:]


def conv_block(cin, cout, k=3):
    return nn.Sequential(
        nn.Conv2d(cin, cout, k, padding=k // 2),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.enc1 = nn.Sequential(conv_block(1, base), conv_block(base, base))
        self.enc2 = nn.Sequential(conv_block(base, 2 * base), conv_block(2 * base, 2 * base))
        self.mid = conv_block(2 * base, 4 * base)
        self.up2 = nn.ConvTranspose2d(4 * base, 2 * base, 2, stride=2)
        self.dec2 = conv_block(4 * base, 2 * base)
        self.up1 = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.dec1 = conv_block(2 * base, base)
        self.out = conv_block(base, 1, k=1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        m = self.mid(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([self.up2(m), e2], dim=1))
        d1 = self.dec1(torch.cat([self.up1(d2), e1], dim=1))
        return self.out(d1)


def dice(logits, target):
    pred = (torch.sigmoid(logits) > 0.5).float()
    return (2 * (pred * target).sum() / (pred.sum() + target.sum() + 1e-6)).item()


model = UNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(6):
    model.train()
    total = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(val_imgs)
        vloss = criterion(out, val_masks).item()
    print(f"epoch {epoch}: train {total / len(train_loader):.4f} val {vloss:.4f} dice {dice(out, val_masks):.4f}")
