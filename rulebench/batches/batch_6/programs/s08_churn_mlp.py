import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 2024
np.random.seed(SEED); torch.manual_seed(SEED)

X, y = make_classification(n_samples=1600, n_features=40, n_informative=8, n_redundant=4, flip_y=0.15,
                           class_sep=0.8, random_state=SEED)
X_tr, X_tmp, y_tr, y_tmp = train_test_split(X, y, test_size=0.6, random_state=SEED, stratify=y)
X_va, X_te, y_va, y_te = train_test_split(X_tmp, y_tmp, test_size=0.5, random_state=SEED, stratify=y_tmp)
scaler = StandardScaler().fit(X_tr)
X_tr, X_va, X_te = [torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (X_tr, X_va, X_te)]
y_tr, y_va, y_te = [torch.tensor(a, dtype=torch.float32) for a in (y_tr, y_va, y_te)]

model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
loss_fn = nn.BCEWithLogitsLoss()
optim = torch.optim.Adam(model.parameters(), lr=1e-3)

best_val = float("inf")
best_state = None
best_epoch = -1
for epoch in range(60):
    model.train()
    for idx in torch.randperm(len(X_tr)).split(32):
        optim.zero_grad()
        loss = loss_fn(model(X_tr[idx]).squeeze(1), y_tr[idx])
        loss.backward()
        optim.step()
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(X_va).squeeze(1), y_va).item()
        trn = loss_fn(model(X_tr).squeeze(1), y_tr).item()
    if val < best_val:
        best_val, best_epoch = val, epoch
        best_state = model.state_dict()
    if epoch % 5 == 0:
        print(f"epoch {epoch:02d} train {trn:.4f} val {val:.4f} best {best_val:.4f} @ {best_epoch}")

print(f"restoring weights of epoch {best_epoch} (val loss {best_val:.4f})")
model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    p = torch.sigmoid(model(X_te).squeeze(1)).numpy()
print("test logloss %.4f auc %.4f" % (log_loss(y_te.numpy(), p.astype(np.float64)), roc_auc_score(y_te.numpy(), p)))
