# Breast cancer with noisy annotators; keep the best model on validation.
import torch, numpy as np
from torch import nn
from torch.utils.data import TensorDataset, DataLoader
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
rng = np.random.default_rng(0)
X, y = make_classification(3000, 30, n_informative=8, n_redundant=0, n_clusters_per_class=2, class_sep=1.0, flip_y=0, random_state=4)
idx = rng.permutation(len(X))
tr, va, te = idx[:600], idx[600:1400], idx[1400:]
sc = StandardScaler().fit(X[tr])
X = torch.tensor(sc.transform(X), dtype=torch.float32)
y = torch.tensor(y)
ytr = y[tr].clone()
flip = torch.tensor(rng.random(len(tr)) < 0.3)      # about 30% of the annotations are wrong
ytr[flip] = 1 - ytr[flip]

loader = DataLoader(TensorDataset(X[tr], ytr), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

def accuracy(ix):
    model.eval()
    with torch.no_grad():
        return (model(X[ix]).argmax(1) == y[ix]).float().mean().item()

best_acc, best_state, best_epoch = 0, None, -1
for epoch in range(100):
    model.train()
    running = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    val = accuracy(va)
    if val > best_acc:
        best_acc, best_epoch = val, epoch
        best_state = model.state_dict()
    if epoch % 10 == 0:
        print(f"epoch {epoch} train loss {running/len(loader):.3f} val acc {val:.3f}")

print(f"best epoch {best_epoch}, val acc {best_acc:.3f}; restoring it")
model.load_state_dict(best_state)
print(f"test accuracy of best model: {accuracy(te):.3f}")
