import torch
import torch.nn as nn
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

torch.manual_seed(4)
torch.set_num_threads(1)
X, y = make_classification(n_samples=5000, n_features=24, n_informative=14, n_classes=5,
                           n_clusters_per_class=2, class_sep=1.6, random_state=4)
X = (X - X.mean(0)) / X.std(0)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.2, random_state=4)
Xtr, Xte = torch.tensor(Xtr, dtype=torch.float32), torch.tensor(Xte, dtype=torch.float32)
ytr, yte = torch.tensor(ytr), torch.tensor(yte)

net = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 5))
criterion = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

micro, accum = 16, 4          # big batches do not fit on my laptop, so 4 x 16
for epoch in range(15):
    net.train()
    opt.zero_grad()
    order = torch.randperm(len(Xtr))
    total, seen = 0.0, 0
    for i, start in enumerate(range(0, len(Xtr), micro)):
        idx = order[start:start + micro]
        loss = criterion(net(Xtr[idx]), ytr[idx]) / accum
        loss.backward()
        if (i + 1) % accum == 0:
            opt.step()
        total += loss.item() * accum * len(idx)
        seen += len(idx)
    net.eval()
    with torch.no_grad():
        acc = (net(Xte).argmax(1) == yte).float().mean().item()
    print(f"Epoch {epoch + 1}: train loss {total / seen:.4f}, test acc {acc:.4f}")

print("Final test accuracy", acc)
