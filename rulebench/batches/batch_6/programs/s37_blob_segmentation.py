import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
# Toy cell segmentation. Images come as H x W x C uint8 like from an imageio reader.

def make_sample(rng, size=32):
    yy, xx = np.mgrid[:size, :size]
    img = rng.randint(60, 140, (size, size, 3)).astype(np.float32)
    mask = np.zeros((size, size), np.float32)
    for _ in range(rng.randint(1, 4)):
        cy, cx, r = rng.randint(4, size - 4), rng.randint(4, size - 4), rng.randint(3, 7)
        blob = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
        mask[blob] = 1
        img[blob] += np.array([70, -20, 30]) * rng.uniform(0.6, 1.2)
    # distractors in another colour
    for _ in range(2):
        cy, cx = rng.randint(4, size - 4, 2)
        blob = ((yy - cy) ** 2 + (xx - cx) ** 2 < 16) & (mask == 0)
        img[blob] += np.array([-20, 70, 30])
    return img.clip(0, 255).astype(np.uint8), mask

rng = np.random.RandomState(3)
torch.manual_seed(3)
N = 360
pairs = [make_sample(rng) for _ in range(N)]
images = np.stack([p[0] for p in pairs])
masks = np.stack([p[1] for p in pairs])

x = torch.from_numpy(images).float() / 255.
x = (x - x.mean(dim=(0, 1, 2))) / x.std(dim=(0, 1, 2))
x = x.reshape(N, 3, 32, 32)
y = torch.from_numpy(masks).unsqueeze(1)
xtr, ytr, xva, yva = x[:300], y[:300], x[300:], y[300:]

class MiniUNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        blk = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))
        self.d1, self.d2 = blk(3, c), blk(c, 2 * c)
        self.u1 = blk(3 * c, c)
        self.out = nn.Conv2d(c, 1, 1)
    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode='nearest')
        return self.out(self.u1(torch.cat([a, b], 1)))

def dice(logits, t):
    p = (torch.sigmoid(logits) > .5).float()
    return ((2 * (p * t).sum() + 1) / (p.sum() + t.sum() + 1)).item()

net = MiniUNet()
opt = torch.optim.Adam(net.parameters(), 2e-3)
for ep in range(10):
    net.train(); tot = 0
    for idx in torch.randperm(len(xtr)).split(20):
        loss = F.binary_cross_entropy_with_logits(net(xtr[idx]), ytr[idx])
        opt.zero_grad(); loss.backward(); opt.step()
        tot += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        dv = dice(net(xva), yva)
    print('epoch %d train_loss %.4f val_dice %.4f' % (ep, tot / len(xtr), dv))
