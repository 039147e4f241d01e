# Step 1: learn a small CNN on letters-like classes 0..5 of the digits.
# Step 2: move it over to the four digits it has never seen (6, 7, 8, 9).
import torch, torch.nn as nn
import numpy as np
from sklearn.datasets import load_digits

torch.manual_seed(5)
np.random.seed(5)

d = load_digits()
imgs = torch.tensor(d.images / 16.0, dtype=torch.float32)[:, None]
lab = torch.tensor(d.target)


class SmallCNN(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(128, 32), nn.ReLU())
        self.classifier = nn.Linear(32, n_out)

    def forward(self, x):
        return self.classifier(self.features(x))


def batches(x, y, bs):
    idx = torch.randperm(len(x))
    for s in range(0, len(x), bs):
        b = idx[s:s + bs]
        yield x[b], y[b]


def fit(model, opt, x, y, epochs, bs=32, tag=""):
    ce = nn.CrossEntropyLoss()
    for e in range(epochs):
        model.train()
        s, n = 0.0, 0
        for xb, yb in batches(x, y, bs):
            opt.zero_grad()
            l = ce(model(xb), yb)
            l.backward()
            opt.step()
            s += l.item(); n += 1
        if e % 5 == 4:
            print(f"{tag} epoch {e + 1}: loss {s / n:.4f}")


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


src = lab < 6
model = SmallCNN(6)
fit(model, torch.optim.Adam(model.parameters(), lr=1e-3), imgs[src], lab[src], 20, tag="source")

xt, yt = imgs[~src], lab[~src] - 6
perm = torch.randperm(len(xt))
tr, te = perm[:300], perm[300:]

# the backbone only needs a gentle touch, the last layer can move faster
optimizer = torch.optim.Adam([
    {"params": model.features.parameters(), "lr": 5e-5},
    {"params": model.classifier.parameters(), "lr": 5e-3},
])
model.classifier = nn.Linear(32, 4)
fit(model, optimizer, xt[tr], yt[tr], 30, bs=16, tag="target")
print("target train acc", round(accuracy(model, xt[tr], yt[tr]), 4))
print("target test acc", round(accuracy(model, xt[te], yt[te]), 4))
