import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(1)
torch.set_num_threads(1)

# Image-like segmentation: find the discs in a noisy 24x24 picture (squares are distractors)
N, S = 700, 24
yy, xx = torch.meshgrid(torch.arange(S), torch.arange(S), indexing="ij")
imgs, masks = torch.randn(N, 1, S, S) * 0.4, torch.zeros(N, 1, S, S)
for i in range(N):
    for _ in range(2):
        cx, cy, r = torch.randint(4, 20, (1,)), torch.randint(4, 20, (1,)), torch.randint(3, 5, (1,))
        m = (xx - cx) ** 2 + (yy - cy) ** 2 <= r ** 2
        imgs[i, 0] += m
        masks[i, 0] = torch.maximum(masks[i, 0], m.float())
    cx, cy = torch.randint(4, 20, (1,)), torch.randint(4, 20, (1,))
    imgs[i, 0] += ((xx - cx).abs() <= 3) & ((yy - cy).abs() <= 3) & (masks[i, 0] == 0)

ds = TensorDataset(imgs, masks)
train_set, val_set = random_split(ds, [550, 150])
train_dl = DataLoader(train_set, batch_size=16, shuffle=True)
val_dl = DataLoader(val_set, batch_size=150)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())


class MiniUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = block(1, 8), block(8, 16)
        self.mid, self.up = block(16, 16), nn.Upsample(scale_factor=2)
        self.u1, self.out = block(24, 8), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.mid(self.d2(nn.functional.max_pool2d(a, 2)))
        return self.out(self.u1(torch.cat([a, self.up(b)], 1)))


model = MiniUNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.3, patience=1)

for epoch in range(16):
    model.train()
    run = 0.0
    for x, m in train_dl:
        optimizer.zero_grad()
        loss = criterion(model(x), m)
        loss.backward()
        optimizer.step()
        run += loss.item()
    model.eval()
    with torch.no_grad():
        x, m = next(iter(val_dl))
        out = model(x)
        val_loss = criterion(out, m).item()
        p = (out > 0).float()
        iou = (p * m).sum() / ((p + m) > 0).sum()
    scheduler.step(val_loss)
    print(f"epoch {epoch:02d} train {run / len(train_dl):.4f} val {val_loss:.4f} IoU {iou:.4f} lr {optimizer.param_groups[0]['lr']:.2e}")
print(f"validation IoU: {iou:.4f}")
