import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(9)
d = load_digits()
X = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(d.target)
p = torch.randperm(len(X))
Xtr, ytr, Xte, yte = X[p[:1300]], y[p[:1300]], X[p[1300:]], y[p[1300:]]

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)


def train_epoch():
    net.train()
    perm = torch.randperm(len(Xtr))
    tot = hit = 0
    for i in range(0, len(Xtr), 50):
        b = perm[i:i + 50]
        out = net(Xtr[b])
        loss = nn.functional.cross_entropy(out, ytr[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tot += loss.item() * len(b)
        hit += (out.argmax(1) == ytr[b]).sum().item()
    return tot / len(Xtr), hit / len(Xtr)


@torch.no_grad()
def per_class_accuracy():
    accs = []
    for c in range(10):
        m = yte == c
        accs.append((net(Xte[m]).argmax(1) == c).float().mean().item())
    return accs


for epoch in range(12):
    l, a = train_epoch()
    accs = per_class_accuracy()
    print(f"{epoch:02d} train loss {l:.3f} acc {a:.3f} | test mean acc {sum(accs) / 10:.3f}")
print("per class:", [round(v, 2) for v in accs])
