"""Tiny fully-convolutional segmentation demo (cells on a noisy slide)."""
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)
S = 24
yy, xx = torch.meshgrid(torch.arange(S), torch.arange(S), indexing="ij")


def draw_one():
    mask = torch.zeros(S, S)
    for _ in range(int(torch.randint(1, 4, (1,)))):
        cy, cx = torch.randint(3, S - 3, (2,))
        ry, rx = torch.randint(2, 6, (2,))
        mask = torch.maximum(mask, ((((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2) < 1).float())
    img = 0.25 + 0.5 * mask + 0.12 * torch.randn(S, S)
    return img[None], mask[None]


class Slides(Dataset):
    def __init__(self, n, augment):
        self.items = [draw_one() for _ in range(n)]
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = self.items[i]
        if self.augment:
            # the slide wraps around, so shift it by up to 7 pixels either way
            dy, dx = (int(v) for v in torch.randint(-7, 8, (2,)))
            img = torch.roll(img, (dy, dx), (1, 2))
            mask = torch.roll(mask, (dx, dy), (1, 2))
            img = img + 0.05 * torch.randn(())     # brightness jitter, image only
        return img, mask


class Net(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.a = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.GroupNorm(4, c), nn.ReLU())
        self.b = nn.Sequential(nn.Conv2d(c, c, 3, padding=2, dilation=2), nn.GroupNorm(4, c), nn.ReLU())
        self.c = nn.Conv2d(2 * c, 1, 1)

    def forward(self, x):
        a = self.a(x)
        return self.c(torch.cat([a, self.b(a)], 1))


train, val = Slides(400, True), Slides(100, False)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
crit = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(2.0))   # background is ~85 % of the pixels

for epoch in range(10):
    net.train()
    tl = 0
    for img, mask in DataLoader(train, batch_size=16, shuffle=True):
        loss = crit(net(img), mask)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tl += loss.item() * len(img)
    net.eval()
    with torch.no_grad():
        vx = torch.stack([a for a, _ in val.items])
        vm = torch.stack([b for _, b in val.items]) > 0.5
        p = net(vx) > 0
        iou = (p & vm).sum() / (p | vm).sum()
    print(f"epoch {epoch}: train bce {tl / len(train):.4f}   val IoU {iou:.3f}")
