# Wine-like tabular classification with early stopping on the validation loss
import copy
import numpy as np
import torch
from torch import nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 11
np.random.seed(SEED)
torch.manual_seed(SEED)

X, y = make_classification(
    n_samples=2800, n_features=40, n_informative=8, n_redundant=4, n_classes=4,
    n_clusters_per_class=1, class_sep=2.0, flip_y=0.35, random_state=SEED,
)
X_tr, X_rest, y_tr, y_rest = train_test_split(X, y, train_size=700, random_state=SEED, stratify=y)
X_val, X_te, y_val, y_te = train_test_split(X_rest, y_rest, train_size=600, random_state=SEED, stratify=y_rest)
scaler = StandardScaler().fit(X_tr)


def to_tensors(a, b):
    return torch.tensor(scaler.transform(a), dtype=torch.float32), torch.tensor(b)


X_tr, y_tr = to_tensors(X_tr, y_tr)
X_val, y_val = to_tensors(X_val, y_val)
X_te, y_te = to_tensors(X_te, y_te)

model = nn.Sequential(
    nn.Linear(40, 256), nn.ReLU(),
    nn.Linear(256, 256), nn.ReLU(),
    nn.Linear(256, 4),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)


def validate(a, b):
    model.eval()
    with torch.no_grad():
        out = model(a)
    return criterion(out, b).item(), (out.argmax(1) == b).float().mean().item()


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best = float("inf")
        self.counter = 0

    def step(self, value):
        improved = value < self.best
        if improved:
            self.best = value
            self.counter = 0
        else:
            self.counter += 1
        return improved

    @property
    def stop(self):
        return self.counter >= self.patience


stopper = EarlyStopping(patience=40)
best_state = None
best_epoch = 0
for epoch in range(300):
    model.train()
    perm = torch.randperm(len(X_tr))
    train_loss = 0.0
    for i in range(0, len(X_tr), 32):
        idx = perm[i : i + 32]
        optimizer.zero_grad()
        loss = criterion(model(X_tr[idx]), y_tr[idx])
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * len(idx)
    val_loss, val_acc = validate(X_val, y_val)
    if stopper.step(val_loss):
        best_state = model.state_dict()
        best_epoch = epoch
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d} train {train_loss / len(X_tr):.4f} val {val_loss:.4f} acc {val_acc:.3f}")
    if stopper.stop:
        print(f"early stopping at epoch {epoch}, best epoch was {best_epoch} with val loss {stopper.best:.4f}")
        break

model.load_state_dict(best_state)
test_loss, test_acc = validate(X_te, y_te)
print(f"test loss of the restored model: {test_loss:.4f}, accuracy {test_acc:.4f}")
