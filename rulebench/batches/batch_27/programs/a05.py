import torch, torch.nn as nn, torch.nn.functional as F, numpy as np

rs = np.random.RandomState(13); torch.manual_seed(13)

def sample():
    """grey image with 1-3 round cells, and their mask"""
    yy, xx = np.mgrid[:32, :32]
    img = rs.randn(32, 32) * .35 + .2 * np.sin(xx / 5 + rs.rand() * 6)
    m = np.zeros((32, 32), bool)
    for _ in range(rs.randint(1, 4)):
        cx, cy, rad = rs.randint(4, 28), rs.randint(4, 28), rs.uniform(2, 5)
        m |= (xx - cx) ** 2 + (yy - cy) ** 2 < rad ** 2
    return (img + m * .9).astype('f'), m.astype('f')

pairs = [sample() for _ in range(700)]
imgs = torch.tensor(np.stack([p[0] for p in pairs]))[:, None]
masks = torch.tensor(np.stack([p[1] for p in pairs]))[:, None]
tr, va = slice(0, 560), slice(560, None)
print('foreground share', masks.mean().item())

class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.d2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.mix = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        u = self.mix(torch.cat([a, self.up(b)], 1))
        return torch.sigmoid(self.head(u))

net = MiniUNet()
criterion = nn.BCEWithLogitsLoss()
optim = torch.optim.Adam(net.parameters(), lr=3e-3)

def iou():
    net.eval()
    with torch.no_grad():
        p = torch.sigmoid(net(imgs[va])) > .5
    t = masks[va] > .5
    return ((p & t).sum() / (p | t).sum()).item()

for ep in range(20):
    net.train(); losses = []
    for idx in torch.randperm(560).split(28):
        out = net(imgs[tr][idx])
        loss = criterion(out, masks[tr][idx])
        optim.zero_grad(); loss.backward(); optim.step()
        losses.append(loss.item())
    print(f'[{ep+1}/20] loss={np.mean(losses):.4f} val IoU={iou():.4f}')
print('IoU', iou())
