import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from sklearn.metrics import balanced_accuracy_score

# defect detection: 6 % of the parts are bad, so draw balanced batches
torch.manual_seed(4)
rng = np.random.default_rng(4)
n = 5000
X = rng.normal(size=(n, 16)).astype("float32")
s = X[:, 0] + 0.8 * X[:, 1] - X[:, 2] * X[:, 3]
y = (s + rng.normal(0, 0.3, n) > 2.6).astype("int64")
print("share of defects", y.mean())
Xtr, ytr, Xte, yte = X[:4000], y[:4000], X[4000:], y[4000:]

counts = np.bincount(ytr)
class_weights = 1.0 / counts
sampler = WeightedRandomSampler(torch.as_tensor(class_weights), num_samples=len(ytr), replacement=True)
loader = DataLoader(TensorDataset(torch.tensor(Xtr), torch.tensor(ytr)), batch_size=64, sampler=sampler)

model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(10):
    model.train()
    total, seen = 0.0, 0
    for xb, yb in loader:
        loss = ce(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
        seen += len(xb)
    model.eval()
    with torch.no_grad():
        pred = model(torch.tensor(Xte)).argmax(1).numpy()
    print(f"epoch {epoch} loss {total / seen:.4f} balanced acc {balanced_accuracy_score(yte, pred):.3f}")
