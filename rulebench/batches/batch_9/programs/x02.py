import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
def make(n):
    y = torch.arange(n) % 3
    g = torch.linspace(0, 3.14 * 2, 16)
    base = torch.stack([torch.sin(g)[None].repeat(16, 1), torch.sin(g)[:, None].repeat(1, 16),
                        torch.sin(g[None] + g[:, None])])
    bright = 1 + 2.0 * torch.rand(n, 1, 1)
    x = bright * base[y] + 0.8 * torch.randn(n, 16, 16) + (y.float() * 1.0)[:, None, None]
    return x[:, None], y
trl = DataLoader(TensorDataset(*make(1500)), batch_size=50, shuffle=True)
tel = DataLoader(TensorDataset(*make(300)), batch_size=1)

net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(4),
    nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 3))
optim = torch.optim.Adam(net.parameters(), lr=1e-3)
lossf = nn.CrossEntropyLoss()

for ep in range(6):
    net.train()
    s = c = 0
    for xb, yb in trl:
        optim.zero_grad()
        o = net(xb)
        l = lossf(o, yb)
        l.backward()
        optim.step()
        s += l.item() * len(xb)
        c += (o.argmax(1) == yb).sum().item()
    print(f"[{ep}] train loss {s / 1500:.3f} acc {c / 1500:.3f}")

correct = 0
with torch.no_grad():
    for xb, yb in tel:
        correct += (net(xb).argmax(1) == yb).sum().item()
print("test accuracy", correct / 300)
