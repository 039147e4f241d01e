# Cross-validated MLP for breast-cancer diagnosis
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

SEED = 42
torch.manual_seed(SEED)
np.random.seed(SEED)

X, y = load_breast_cancer(return_X_y=True)
X = X.astype(np.float32)
y = y.astype(np.float32)


def build_model(d):
    return nn.Sequential(
        nn.Linear(d, 48), nn.ReLU(), nn.Dropout(0.1),
        nn.Linear(48, 24), nn.ReLU(),
        nn.Linear(24, 1),
    )


def run_epoch(model, optimizer, loss_fn, X, y, batch_size=32):
    model.train()
    order = torch.randperm(len(X))
    losses = []
    for start in range(0, len(X), batch_size):
        sel = order[start:start + batch_size]
        optimizer.zero_grad()
        out = model(X[sel]).squeeze(1)
        loss = loss_fn(out, y[sel])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses))


model = build_model(X.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
loss_fn = nn.BCEWithLogitsLoss()

skf = StratifiedKFold(n_splits=5, shuffle=True, random_state=SEED)
aucs, accs = [], []
for fold, (tr, va) in enumerate(skf.split(X, y)):
    mu, sd = X[tr].mean(0), X[tr].std(0)
    Xtr = torch.from_numpy((X[tr] - mu) / sd)
    Xva = torch.from_numpy((X[va] - mu) / sd)
    ytr = torch.from_numpy(y[tr])

    model = build_model(X.shape[1])
    for epoch in range(40):
        loss = run_epoch(model, optimizer, loss_fn, Xtr, ytr)
        if epoch % 10 == 0 or epoch == 39:
            print(f"fold {fold} epoch {epoch:2d} loss {loss:.4f}")

    model.eval()
    with torch.no_grad():
        prob = torch.sigmoid(model(Xva)).squeeze(1).numpy()
    aucs.append(roc_auc_score(y[va], prob))
    accs.append(((prob > 0.5) == y[va]).mean())
    print(f"fold {fold}: auc {aucs[-1]:.4f} acc {accs[-1]:.4f}")

print(f"CV auc {np.mean(aucs):.4f} +- {np.std(aucs):.4f}, acc {np.mean(accs):.4f}")
