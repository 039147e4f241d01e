# Imbalanced "fraud" table. pos_weight + threshold picked on validation data.
import numpy as np
import torch
from torch import nn
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score, average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

torch.manual_seed(0)
X, y = make_classification(n_samples=8000, n_features=16, n_informative=8, weights=[0.95], class_sep=1.4,
                           flip_y=0.005, random_state=5)
Xtr, Xrest, ytr, yrest = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
Xva, Xte, yva, yte = train_test_split(Xrest, yrest, test_size=0.5, stratify=yrest, random_state=0)
sc = StandardScaler().fit(Xtr)
Xtr, Xva, Xte = (torch.tensor(sc.transform(a), dtype=torch.float32) for a in (Xtr, Xva, Xte))
ytr_t = torch.tensor(ytr, dtype=torch.float32)

pos_weight = torch.tensor((ytr == 0).sum() / (ytr == 1).sum(), dtype=torch.float32)
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1), nn.Flatten(0))
crit = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)

for epoch in range(25):
    net.train()
    tot = 0
    for idx in torch.randperm(len(Xtr)).split(128):
        loss = crit(net(Xtr[idx]), ytr_t[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx)
    if epoch % 5 == 4:
        net.eval()
        with torch.no_grad():
            pv = torch.sigmoid(net(Xva)).numpy()
        print(f"epoch {epoch+1} loss {tot/len(Xtr):.4f} val AP {average_precision_score(yva, pv):.3f}")

net.eval()
with torch.no_grad():
    pv, pt = torch.sigmoid(net(Xva)).numpy(), torch.sigmoid(net(Xte)).numpy()
grid = np.linspace(0.05, 0.995, 60)
thr = grid[np.argmax([f1_score(yva, pv > g) for g in grid])]
print(f"threshold {thr:.2f} test F1 {f1_score(yte, pt > thr):.3f} test AP {average_precision_score(yte, pt):.3f}")
