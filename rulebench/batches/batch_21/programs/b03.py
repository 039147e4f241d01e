# %% [markdown]
# Binary segmentation of blobs on a textured background with a small U-Net

# %%
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

np.random.seed(42)
torch.manual_seed(42)

# %%
SIZE = 32


def make_sample():
    yy, xx = np.mgrid[:SIZE, :SIZE]
    img = 0.25 * np.random.randn(SIZE, SIZE) + 0.2 * np.sin(xx / np.random.uniform(1, 4))
    mask = np.zeros((SIZE, SIZE), dtype=np.float32)
    for _ in range(np.random.randint(1, 4)):
        cx, cy = np.random.randint(5, SIZE - 5, 2)
        r = np.random.randint(3, 6)
        inside = (xx - cx) ** 2 + (yy - cy) ** 2 < r**2
        mask[inside] = 1.0
        img[inside] += 0.7
    return img.astype(np.float32), mask


pairs = [make_sample() for _ in range(600)]
images = torch.tensor(np.stack([p[0] for p in pairs])).unsqueeze(1)
masks = torch.tensor(np.stack([p[1] for p in pairs])).unsqueeze(1)
train_dl = DataLoader(TensorDataset(images[:500], masks[:500]), batch_size=20, shuffle=True)
val_dl = DataLoader(TensorDataset(images[500:], masks[500:]), batch_size=50)


# %%
def conv_bn_relu(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.down1 = conv_bn_relu(1, ch)
        self.down2 = conv_bn_relu(ch, ch * 2)
        self.mid = conv_bn_relu(ch * 2, ch * 4)
        self.up2 = conv_bn_relu(ch * 6, ch * 2)
        self.up1 = conv_bn_relu(ch * 3, ch)
        self.final = nn.Sequential(nn.Conv2d(ch, 1, 1), nn.ReLU())

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(F.max_pool2d(d1, 2))
        m = self.mid(F.max_pool2d(d2, 2))
        u2 = self.up2(torch.cat([F.interpolate(m, scale_factor=2), d2], dim=1))
        u1 = self.up1(torch.cat([F.interpolate(u2, scale_factor=2), d1], dim=1))
        return self.final(u1)


model = UNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


# %%
def iou(logits, target):
    pred = torch.sigmoid(logits) >= 0.5
    target = target > 0.5
    inter = (pred & target).sum().item()
    union = (pred | target).sum().item()
    return inter / max(union, 1)


for epoch in range(8):
    model.train()
    losses = []
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        scores = [iou(model(xb), yb) for xb, yb in val_dl]
    print(f"epoch {epoch + 1}: train loss {np.mean(losses):.4f}, val IoU {np.mean(scores):.3f}")
