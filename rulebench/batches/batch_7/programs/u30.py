import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(205)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
y = torch.tensor(d.target)
p = torch.randperm(len(y))
tr, te = p[:1400], p[1400:]
loader = DataLoader(TensorDataset(X[tr], y[tr]), batch_size=32, shuffle=True)

net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
sched = CosineAnnealingWarmRestarts(opt, T_0=4, T_mult=2)
for epoch in range(12):
    net.train()
    tot = 0.0
    for i, (a, b) in enumerate(loader):
        loss = F.cross_entropy(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step(epoch + (i + 1) / len(loader))
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(X[te]).argmax(1) == y[te]).float().mean().item()
    print(f"epoch {epoch} lr {opt.param_groups[0]['lr']:.4f} loss {tot / len(loader):.4f} acc {acc:.4f}")
