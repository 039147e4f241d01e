"""Breast cancer classifier: 5-fold cross validation of a small MLP."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

SEED = 0
EPOCHS = 25
BATCH_SIZE = 32


class MLP(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(32, 16), nn.ReLU(),
            nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


def fit_fold(x_tr, y_tr, x_te, y_te):
    scaler = StandardScaler().fit(x_tr)
    x_tr = torch.tensor(scaler.transform(x_tr), dtype=torch.float32)
    x_te = torch.tensor(scaler.transform(x_te), dtype=torch.float32)
    y_tr = torch.tensor(y_tr, dtype=torch.float32)

    model = MLP(x_tr.shape[1])
    pos_weight = (y_tr == 0).sum() / (y_tr == 1).sum()
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    first = last = None
    for epoch in range(EPOCHS):
        model.train()
        perm = torch.randperm(len(x_tr))
        epoch_loss = 0.0
        steps = len(perm) // BATCH_SIZE
        for b in range(steps):
            idx = perm[b * BATCH_SIZE:(b + 1) * BATCH_SIZE]
            optimizer.zero_grad()
            loss = criterion(model(x_tr[idx]), y_tr[idx])
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        last = epoch_loss / steps
        first = first or last
    model.eval()
    with torch.no_grad():
        prob = torch.sigmoid(model(x_te)).numpy()
    return first, last, ((prob > 0.5) == y_te).mean(), roc_auc_score(y_te, prob)


def main():
    torch.manual_seed(SEED)
    x, y = load_breast_cancer(return_X_y=True)
    results = []
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    for k, (tr, te) in enumerate(folds.split(x, y)):
        first, last, acc, auc = fit_fold(x[tr], y[tr], x[te], y[te])
        results.append((acc, auc))
        print(f"fold {k}: loss {first:.4f} -> {last:.4f}  accuracy {acc:.4f}  auc {auc:.4f}")
    acc, auc = np.array(results).mean(0)
    print(f"mean accuracy {acc:.4f}  mean auc {auc:.4f}")


if __name__ == "__main__":
    main()
