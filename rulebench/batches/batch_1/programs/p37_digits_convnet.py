import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(21)
data = load_digits()
x = torch.tensor(data.images, dtype=torch.float32)[:, None] / 8 - 1
y = torch.tensor(data.target)
full = TensorDataset(x, y)
train_set, val_set = random_split(full, [1300, 497], generator=torch.Generator().manual_seed(1))
train_loader = DataLoader(train_set, 64, shuffle=True, drop_last=True)
val_loader = DataLoader(val_set, 256)


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


net = nn.Sequential(
    conv_bn(1, 16), conv_bn(16, 16), conv_bn(16, 32, 2), conv_bn(32, 32), conv_bn(32, 32, 2), conv_bn(32, 32),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.3), nn.Linear(32, 10))

criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[12, 16], gamma=0.1)


def validate():
    net.eval()
    loss, hits, n = 0.0, 0, 0
    with torch.no_grad():
        for xb, yb in val_loader:
            out = net(xb)
            loss += criterion(out, yb).item() * len(yb)
            hits += (out.argmax(1) == yb).sum().item()
            n += len(yb)
    return loss / n, hits / n


net.train()
for epoch in range(18):
    epoch_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    scheduler.step()
    vl, va = validate()
    print(f"epoch {epoch:2d}: train {epoch_loss / len(train_loader):.3f}  val {vl:.3f}  acc {va:.3f}")
