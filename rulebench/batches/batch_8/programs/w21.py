import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from sklearn.metrics import f1_score, balanced_accuracy_score

torch.manual_seed(209)
rng = np.random.default_rng(209)
n = 5000
X = rng.normal(size=(n, 12)).astype("float32")
s = X[:, 0] * X[:, 1] + X[:, 2]
y = np.digitize(s, [-2.0, 2.2])
print("class counts", np.bincount(y))
tr, te = np.arange(4000), np.arange(4000, n)
per_sample = (1.0 / np.bincount(y[tr]))[y[tr]]
sampler = WeightedRandomSampler(torch.as_tensor(per_sample), len(tr), replacement=True)
dl = DataLoader(TensorDataset(torch.tensor(X[tr]), torch.tensor(y[tr])), batch_size=50, sampler=sampler)
net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(12):
    net.train()
    ls = []
    for xb, yb in dl:
        opt.zero_grad()
        l = nn.functional.cross_entropy(net(xb), yb)
        l.backward()
        opt.step()
        ls.append(l.item())
    net.eval()
    with torch.inference_mode():
        p = net(torch.tensor(X[te])).argmax(1).numpy()
    print(f"{epoch} loss {np.mean(ls):.3f} balanced acc {balanced_accuracy_score(y[te], p):.3f} "
          f"macro f1 {f1_score(y[te], p, average='macro'):.3f}")
