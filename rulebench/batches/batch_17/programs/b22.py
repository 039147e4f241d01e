import numpy as np, torch, torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import train_test_split

# fraud-like data with 3 % positives
torch.manual_seed(0); np.random.seed(0)
X, y = make_classification(12000, 25, n_informative=8, n_redundant=4, weights=[0.97], flip_y=0.002,
                           class_sep=1.2, random_state=2)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
Xtr, Xva, ytr, yva = train_test_split(Xtr, ytr, test_size=0.2, stratify=ytr, random_state=0)
mu, sd = Xtr.mean(0), Xtr.std(0)
f = lambda a: torch.tensor((a - mu) / sd, dtype=torch.float32)
Xtr, Xva, Xte = f(Xtr), f(Xva), f(Xte)
t = torch.tensor(ytr, dtype=torch.float32)

net = nn.Sequential(nn.Linear(25, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2),
                    nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
nn.init.constant_(net[-1].bias, 0.0)
pos_weight = (t == 0).sum() / (t == 1).sum()
crit = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)
print("pos_weight", pos_weight.item())

def proba(a):
    net.eval()
    with torch.no_grad():
        return torch.sigmoid(net(a)).squeeze(1).numpy()

for ep in range(20):
    net.train()
    tot = 0.0
    for b in torch.randperm(len(t)).split(128):
        if len(b) < 2:
            continue
        opt.zero_grad()
        loss = crit(net(Xtr[b]).squeeze(1), t[b])
        loss.backward()
        opt.step()
        tot += loss.item() * len(b)
    if ep % 4 == 3:
        print(f"epoch {ep+1} loss {tot/len(t):.4f} val AP {average_precision_score(yva, proba(Xva)):.4f}")

pv = proba(Xva)
grid = np.linspace(0.05, 0.995, 60)
thr = grid[np.argmax([f1_score(yva, pv > g) for g in grid])]
pt = proba(Xte)
print(f"threshold {thr:.3f} test AP {average_precision_score(yte, pt):.4f} test F1 {f1_score(yte, pt > thr):.4f} base rate {yte.mean():.3f}")
