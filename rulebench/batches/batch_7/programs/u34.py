import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(5)
d = load_digits()
X = torch.tensor(d.images / 16.0, dtype=torch.float32).unsqueeze(1)
y = torch.tensor(d.target)
train_ds = TensorDataset(X[:1297], y[:1297])
Xt, yt = X[1297:], y[1297:]
order = torch.argsort(yt, stable=True)          # class by class, for the per-class report
test_ds = TensorDataset(Xt[order], yt[order])
train_dl = DataLoader(train_ds, batch_size=64, shuffle=True)
test_dl = DataLoader(test_ds, batch_size=16)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(512, 64), nn.BatchNorm1d(64), nn.ReLU(),
                                  nn.Dropout(0.4), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(self.features(x))


model = ConvNet()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()


def evaluate():
    correct, loss_sum = 0, 0.0
    with torch.no_grad():
        for xb, yb in test_dl:
            out = model(xb)
            loss_sum += ce(out, yb).item() * len(xb)
            correct += (out.argmax(1) == yb).sum().item()
    return loss_sum / len(test_ds), correct / len(test_ds)


for epoch in range(12):
    model.train()
    tl = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = ce(model(xb), yb)
        loss.backward()
        opt.step()
        tl += loss.item() * len(xb)
    vl, va = evaluate()
    print(f"epoch {epoch}: train loss {tl / len(train_ds):.4f} | test loss {vl:.4f} acc {va:.4f}")
