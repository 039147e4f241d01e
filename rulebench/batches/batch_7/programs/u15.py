import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, recall_score, roc_auc_score
from sklearn.model_selection import train_test_split

torch.manual_seed(208)
X, y = make_classification(n_samples=6000, n_features=20, n_informative=8, weights=[0.95], class_sep=1.0, random_state=208)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, stratify=y, test_size=0.25, random_state=208)
mu, sd = X_tr.mean(0), X_tr.std(0)
X_tr, X_te = [torch.tensor((a - mu) / sd, dtype=torch.float32) for a in (X_tr, X_te)]
t_tr = torch.tensor(y_tr, dtype=torch.float32)

freq = torch.bincount(torch.tensor(y_tr)).float()
sampler = WeightedRandomSampler((1.0 / freq)[torch.tensor(y_tr)], num_samples=len(y_tr), replacement=True)
dl = DataLoader(TensorDataset(X_tr, t_tr), batch_size=64, sampler=sampler)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 1))
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
lossf = nn.BCEWithLogitsLoss()
for epoch in range(15):
    net.train()
    tot = 0.0
    for a, b in dl:
        opt.zero_grad()
        loss = lossf(net(a).squeeze(-1), b)
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        s = net(X_te).squeeze(-1).sigmoid().numpy()
    print(f"epoch {epoch} loss {tot / len(dl):.4f} AUC {roc_auc_score(y_te, s):.3f} "
          f"AP {average_precision_score(y_te, s):.3f} recall {recall_score(y_te, s > 0.5):.3f}")
