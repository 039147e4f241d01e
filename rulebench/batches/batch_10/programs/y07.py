import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score

torch.manual_seed(208)
X, y = make_classification(4000, 15, n_informative=9, n_classes=3, weights=[0.85, 0.1, 0.05], class_sep=1.3,
                           n_clusters_per_class=1, flip_y=0.01, random_state=208)
X = torch.tensor(X, dtype=torch.float32)
y = torch.tensor(y)
mu, sd = X[:3000].mean(0), X[:3000].std(0)
X = (X - mu) / sd
counts = torch.bincount(y[:3000])
sampler = WeightedRandomSampler((1.0 / counts.float())[y[:3000]], num_samples=3000, replacement=True)
loader = DataLoader(TensorDataset(X[:3000], y[:3000]), batch_size=64, sampler=sampler)
model = nn.Sequential(nn.Linear(15, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
print("class counts", counts.tolist())
for epoch in range(15):
    model.train()
    tot = 0
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
    model.eval()
    with torch.no_grad():
        pred = model(X[3000:]).argmax(1)
    print(f"epoch {epoch} loss {tot / len(loader):.4f} balanced acc {balanced_accuracy_score(y[3000:], pred):.4f}")
