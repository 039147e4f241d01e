import math, torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(31)

# three machine states from a vibration signal of 96 samples
def signals(n):
    t = torch.arange(96) / 96
    y = torch.randint(0, 3, (n,))
    f = 3 + 5 * torch.rand(n, 1)
    ph = 2 * math.pi * torch.rand(n, 1)
    base = torch.sin(2 * math.pi * f * t + ph)
    second = torch.sin(2 * math.pi * 2.5 * f * t + 2.2 * ph)
    x = base + torch.where(y[:, None] == 1, 0.8 * second, torch.zeros(1))
    x = torch.where(y[:, None] == 2, x * (1 + 0.7 * torch.sin(2 * math.pi * 2 * t)), x)
    return (x + 0.3 * torch.randn(n, 96))[:, None], y

xtr, ytr = signals(3200)
xva, yva = signals(800)
train_loader = DataLoader(TensorDataset(xtr, ytr), batch_size=32, shuffle=True)

net = nn.Sequential(
    nn.Conv1d(1, 16, 7, stride=2), nn.ReLU(),
    nn.Conv1d(16, 32, 5, stride=2), nn.ReLU(),
    nn.Conv1d(32, 32, 3, stride=2), nn.ReLU(),
    nn.AdaptiveAvgPool1d(2), nn.Flatten(), nn.Linear(64, 3))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=15)

def validate():
    net.eval()
    with torch.no_grad():
        out = net(xva)
    return loss_fn(out, yva).item(), (out.argmax(1) == yva).float().mean().item()

for epoch in range(15):
    net.train()
    optimizer.zero_grad()
    seen = 0.0
    for x, y in train_loader:
        loss = loss_fn(net(x), y)
        loss.backward()
        optimizer.step()
        seen += loss.item()
    scheduler.step()
    vl, va = validate()
    print(f"{epoch+1:2d} | train {seen/len(train_loader):8.4f} | valid {vl:8.4f} | acc {va:.4f} | lr {scheduler.get_last_lr()[0]:.4f}")
print("final validation accuracy", round(validate()[1], 4))
