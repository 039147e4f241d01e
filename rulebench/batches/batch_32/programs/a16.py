"""Blob segmentation with a very small U-Net."""
import torch
from torch import nn
import torch.nn.functional as F

SEED = 16
torch.manual_seed(SEED)
torch.set_num_threads(1)


def make(n, S=32):
    yy, xx = torch.meshgrid(torch.arange(S), torch.arange(S), indexing="ij")
    img, msk = torch.zeros(n, 1, S, S), torch.zeros(n, 1, S, S)
    for i in range(n):
        for _ in range(int(torch.randint(1, 4, (1,)))):
            cx, cy = torch.randint(4, S - 4, (2,))
            r = torch.randint(3, 7, (1,))
            m = ((xx - cx) ** 2 + (yy - cy) ** 2) <= r ** 2
            msk[i, 0][m] = 1
            img[i, 0][m] = 0.5 + 0.5 * torch.rand(1)
        img[i] += 0.35 * torch.randn(1, S, S)
    return img, msk


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, 12), block(12, 24), block(24, 24)
        self.u2, self.u1 = block(48, 12), block(24, 12)
        self.head = nn.Conv2d(12, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        x = self.u2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        x = self.u1(torch.cat([F.interpolate(x, scale_factor=2), a], 1))
        return self.head(x)


def dice(p, t):
    return (2 * (p * t).sum() / (p.sum() + t.sum()).clamp(min=1)).item()


Xtr, Mtr = make(600)
Xva, Mva = make(150)
net = UNet()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(10):
    net.train()
    tot = 0.0
    for b in torch.randperm(len(Xtr)).split(16):
        loss = F.binary_cross_entropy_with_logits(net(Xtr[b]), Mtr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    net.eval()
    with torch.no_grad():
        d = dice((net(Xva) > 0).float(), Mva)
    print(f"epoch {epoch:2d} train loss {tot / len(Xtr):.4f} val dice {d:.4f}")
print("validation dice:", round(d, 4))
