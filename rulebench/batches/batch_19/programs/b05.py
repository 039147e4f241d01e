import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class CellDataset(Dataset):
    """Synthetic microscope pictures with bright cells and their masks."""

    def __init__(self, n, seed, augment=False, size=32):
        rng = np.random.default_rng(seed)
        self.augment = augment
        yy, xx = np.mgrid[:size, :size]
        self.images, self.masks = [], []
        for _ in range(n):
            mask = np.zeros((size, size), dtype="float32")
            for _ in range(rng.integers(1, 4)):
                cx, cy = rng.uniform(4, size - 4, 2)
                a, b = rng.uniform(2.5, 6, 2)
                mask[((xx - cx) / a) ** 2 + ((yy - cy) / b) ** 2 < 1] = 1
            img = 0.5 * mask + 0.3 * rng.standard_normal((size, size)) + 0.1 * xx / size
            self.images.append(img.astype("float32"))
            self.masks.append(mask)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = torch.from_numpy(self.images[i])[None]
        mask = torch.from_numpy(self.masks[i])[None]
        if self.augment:
            if torch.rand(1) < 0.5:
                img = torch.flip(img, dims=[2])
            if torch.rand(1) < 0.5:
                img = torch.flip(img, dims=[1])
            img = img + 0.05 * torch.randn_like(img)
        return img, mask


class SmallUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1 = self.block(1, c)
        self.d2 = self.block(c, 2 * c)
        self.mid = self.block(2 * c, 2 * c)
        self.u1 = self.block(4 * c, c)
        self.u2 = self.block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    @staticmethod
    def block(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        m = F.interpolate(m, scale_factor=2, mode="nearest")
        u = self.u1(torch.cat([m, b], 1))
        u = F.interpolate(u, scale_factor=2, mode="nearest")
        return self.out(self.u2(torch.cat([u, a], 1)))


def dice_score(logits, mask):
    pred = (logits > 0).float()
    inter = (pred * mask).sum((1, 2, 3))
    return ((2 * inter + 1) / (pred.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean().item()


def evaluate(model, loader):
    model.eval()
    scores = []
    with torch.no_grad():
        for img, mask in loader:
            scores.append(dice_score(model(img), mask))
    return float(np.mean(scores))


def main():
    torch.manual_seed(0)
    train = DataLoader(CellDataset(240, 1, augment=True), batch_size=16, shuffle=True)
    val = DataLoader(CellDataset(100, 2), batch_size=50)
    model = SmallUNet()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(8):
        model.train()
        running = 0.0
        for img, mask in train:
            loss = F.binary_cross_entropy_with_logits(model(img), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        print(f"epoch {epoch}: loss {running / len(train):.4f}  val dice {evaluate(model, val):.4f}")


if __name__ == "__main__":
    main()
