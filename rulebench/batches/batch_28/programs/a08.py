"""Bearing-fault classification from vibration windows, 1-D CNN."""
import math
import torch
import torch.nn as nn

SEED = 13
torch.manual_seed(SEED)
CLASSES = ["healthy", "inner race", "outer race", "ball", "cage"]
FREQ = [0.0, 11.0, 17.0, 7.0, 4.0]


def vibration(label, n):
    t = torch.linspace(0, 1, 128).expand(n, 128)
    base = torch.sin(2 * math.pi * 3 * t + 6.28 * torch.rand(n, 1))
    fault = torch.sin(2 * math.pi * FREQ[label] * t + 6.28 * torch.rand(n, 1)) * (0.0 if label == 0 else 0.9)
    gain = 0.8 + 0.4 * torch.rand(n, 1)
    return (gain * (base + fault) + 0.5 * torch.randn(n, 128)).unsqueeze(1)


def make(n):
    xs = torch.cat([vibration(c, n) for c in range(5)])
    ys = torch.arange(5).repeat_interleave(n)
    return xs, ys


train_x, train_y = make(300)
test_x, test_y = make(100)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv1d(i, o, 7, padding=3), nn.BatchNorm1d(o), nn.ReLU(), nn.MaxPool1d(2))
        self.f = nn.Sequential(block(1, 16), block(16, 32), block(32, 32))
        self.head = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.BatchNorm1d(32), nn.Linear(32, 5))

    def forward(self, x):
        return self.head(self.f(x))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
crit = nn.CrossEntropyLoss()


def accuracy(x, y, bs=25):
    hits = 0
    with torch.no_grad():
        for i in range(0, len(x), bs):
            hits += (net(x[i:i + bs]).argmax(1) == y[i:i + bs]).sum().item()
    return hits / len(x)


for epoch in range(12):
    net.train()
    order = torch.randperm(len(train_x))
    losses = []
    for i in range(0, len(order), 50):
        idx = order[i:i + 50]
        opt.zero_grad()
        loss = crit(net(train_x[idx]), train_y[idx])
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"[{epoch:02d}] loss={sum(losses) / len(losses):.4f} test_acc={accuracy(test_x, test_y):.3f}")

print("Test accuracy: {:.3f}".format(accuracy(test_x, test_y)))
