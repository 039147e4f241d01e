import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
rng = np.random.default_rng(0)


class SmallNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.fc = nn.Linear(64, n_classes)

    def forward(self, x):
        return self.fc(self.features(x))


def dataset(k, n):
    c = rng.normal(0, 0.6, (k, 30))
    y = rng.integers(0, k, n)
    return (torch.tensor(c[y] + rng.normal(0, 1, (n, 30)), dtype=torch.float32), torch.tensor(y))


def run(model, opt, x, y, epochs, name):
    for ep in range(epochs):
        perm = torch.randperm(len(x))
        tot = 0.0
        for i in range(0, len(x), 50):
            b = perm[i:i + 50]
            opt.zero_grad()
            loss = F.cross_entropy(model(x[b]), y[b])
            loss.backward()
            opt.step()
            tot += loss.item() * len(b)
        print(f"{name} epoch {ep} loss {tot / len(x):.4f}")


# pretraining with 5 classes
model = SmallNet(5)
x0, y0 = dataset(5, 3000)
run(model, torch.optim.Adam(model.parameters(), lr=1e-3), x0, y0, 5, "pre")

# fine-tuning: keep the features as they are, only the classifier adapts to 12 classes
for p in model.features.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
model.fc = nn.Linear(64, 12)
x1, y1 = dataset(12, 3000)
run(model, optimizer, x1[:2400], y1[:2400], 20, "fine-tune")
model.eval()
with torch.no_grad():
    acc = (model(x1[2400:]).argmax(1) == y1[2400:]).float().mean().item()
print("test accuracy", acc)
