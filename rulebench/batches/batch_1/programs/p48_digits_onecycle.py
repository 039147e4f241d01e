"""OneCycle (super-convergence) with label smoothing 0.2 and mixup."""
import torch, torch.nn as nn, torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)
d = load_digits()
x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16.
y = torch.tensor(d.target, dtype=torch.long)
tr = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=35, shuffle=True)

net = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                    nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
EPOCHS = 10
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.3, steps_per_epoch=len(tr), epochs=EPOCHS)
beta = torch.distributions.Beta(0.3, 0.3)

for epoch in range(EPOCHS):
    net.train()
    total = 0
    for xb, yb in tr:
        lam = beta.sample().item()
        j = torch.randperm(len(xb))
        out = net(lam * xb + (1 - lam) * xb[j])
        loss = lam * F.cross_entropy(out, yb, label_smoothing=0.2) + (1 - lam) * F.cross_entropy(out, yb[j], label_smoothing=0.2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        acc = (net(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
    print(f"{epoch}: loss {total / len(tr):.3f} acc {acc:.3f} lr {sched.get_last_lr()[0]:.5f}")
