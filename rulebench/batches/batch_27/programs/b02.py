# Transfer learning on a budget: features learned on digits 0-4 are reused for 5-9.
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
np.random.seed(1)


class SmallNet(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(24, 48, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(48 * 16, 96), nn.ReLU())
        self.fc = nn.Linear(96, n_out)

    def forward(self, x):
        return self.fc(self.features(x))


def loaders(lo, hi):
    d = load_digits()
    keep = (d.target >= lo) & (d.target < hi)
    x = torch.tensor(d.images[keep] / 16.0, dtype=torch.float32).unsqueeze(1)
    y = torch.tensor(d.target[keep] - lo)
    p = torch.randperm(len(x))
    cut = int(0.75 * len(x))
    tr = TensorDataset(x[p[:cut]], y[p[:cut]])
    te = TensorDataset(x[p[cut:]], y[p[cut:]])
    return DataLoader(tr, 32, shuffle=True), DataLoader(te, 256)


def fit(model, optimizer, loader, epochs, tag):
    for ep in range(epochs):
        model.train()
        tot = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tot += loss.item() * len(xb)
        if ep % 5 == 4:
            print(f"[{tag}] epoch {ep + 1}: train loss {tot / len(loader.dataset):.4f}")


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hit = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in loader)
    return hit / len(loader.dataset)


def finetune_setup(model, n_new):
    for p in model.features.parameters():
        p.requires_grad = False
    optimizer = torch.optim.Adam(model.fc.parameters(), lr=5e-3)
    model.fc = nn.Linear(model.fc.in_features, n_new)
    return model, optimizer


if __name__ == "__main__":
    net = SmallNet(5)
    src_train, src_test = loaders(0, 5)
    fit(net, torch.optim.Adam(net.parameters(), lr=1e-3), src_train, 20, "source")
    print("source test accuracy", round(accuracy(net, src_test), 3))

    net, opt = finetune_setup(net, 5)
    dst_train, dst_test = loaders(5, 10)
    fit(net, opt, dst_train, 50, "target")
    print("target test accuracy", round(accuracy(net, dst_test), 3))
