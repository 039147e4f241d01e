import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(202)
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(d.target)
perm = torch.randperm(len(x))
x, y = x[perm], y[perm]
net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
                    nn.Dropout(0.25), nn.Linear(32 * 16, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=3, T_mult=2)
iters = 1400 // 35
for epoch in range(9):
    net.train()
    p = torch.randperm(1400)
    for k in range(iters):
        b = p[k * 35:(k + 1) * 35]
        opt.zero_grad()
        loss = F.cross_entropy(net(x[b]), y[b], label_smoothing=0.05)
        loss.backward()
        opt.step()
        sched.step(epoch + k / iters)
    net.eval()
    with torch.no_grad():
        acc = (net(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
    print(f"epoch {epoch} lr {opt.param_groups[0]['lr']:.4f} loss {loss.item():.4f} val acc {acc:.3f}")
