import torch
import torch.nn as nn
import torch.nn.functional as F

# tiny segmentation task: find bright discs on noisy background, focal + dice loss
torch.manual_seed(209)
S = 20


def make(n):
    yy, xx = torch.meshgrid(torch.arange(S).float(), torch.arange(S).float(), indexing="ij")
    cx, cy = torch.rand(n, 1, 1) * 14 + 3, torch.rand(n, 1, 1) * 14 + 3
    r = torch.rand(n, 1, 1) * 1.5 + 1.5
    mask = ((xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2).float()
    img = mask * 1.2 + 0.5 * torch.randn(n, S, S)
    return img[:, None], mask[:, None]


def focal(logits, t, gamma=2.0, alpha=0.75):
    ce = F.binary_cross_entropy_with_logits(logits, t, reduction="none")
    pt = torch.exp(-ce)
    a = alpha * t + (1 - alpha) * (1 - t)
    return (a * (1 - pt) ** gamma * ce).mean()


def dice_loss(logits, t):
    p = torch.sigmoid(logits)
    inter = (p * t).sum((1, 2, 3))
    return (1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + t.sum((1, 2, 3)) + 1)).mean()


net = nn.Sequential(nn.Conv2d(1, 12, 5, padding=2), nn.ReLU(), nn.Conv2d(12, 12, 5, padding=2), nn.ReLU(),
                    nn.Conv2d(12, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
x, m = make(640)
xt, mt = make(200)
for epoch in range(10):
    tot = 0
    for b in torch.randperm(640).split(32):
        lg = net(x[b])
        loss = 4 * focal(lg, m[b]) + dice_loss(lg, m[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    with torch.no_grad():
        pr = (net(xt) > 0).float()
        iou = ((pr * mt).sum() / ((pr + mt) > 0).float().sum()).item()
    print(f"epoch {epoch} loss {tot / 20:.4f} IoU {iou:.4f}")
