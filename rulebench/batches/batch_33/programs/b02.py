# Noisy labels experiment - MLP on a small tabular set with 25% label noise.
# We keep the weights of the epoch with the best validation accuracy.
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
np.random.seed(3)
torch.set_num_threads(1)

X, y = make_classification(n_samples=6000, n_features=40, n_informative=12, n_redundant=4,
                           n_classes=4, n_clusters_per_class=1, class_sep=1.6, flip_y=0.0, random_state=3)
X_tmp, X_test, y_tmp, y_test = train_test_split(X, y, test_size=4000, random_state=0, stratify=y)
X_tr, X_val, y_tr, y_val = train_test_split(X_tmp, y_tmp, test_size=800, random_state=0, stratify=y_tmp)
y_tr = y_tr.copy()
noisy = np.random.rand(len(y_tr)) < 0.25
y_tr[noisy] = np.random.randint(0, 4, noisy.sum())
mean, std = X_tr.mean(0), X_tr.std(0)


def tensors(a, b):
    return torch.tensor((a - mean) / std, dtype=torch.float32), torch.tensor(b, dtype=torch.long)


train_loader = DataLoader(TensorDataset(*tensors(X_tr, y_tr)), batch_size=64, shuffle=True)
xv, yv = tensors(X_val, y_val)
xt, yt = tensors(X_test, y_test)


class Net(nn.Module):
    def __init__(self, d_in, hidden, n_out):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(),
                                  nn.Linear(hidden, hidden), nn.ReLU(),
                                  nn.Linear(hidden, n_out))

    def forward(self, x):
        return self.body(x)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


model = Net(40, 256, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

best_acc, best_epoch, best_weights = 0.0, -1, None
for epoch in range(120):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
    val_acc = accuracy(model, xv, yv)
    if val_acc > best_acc:
        best_acc, best_epoch = val_acc, epoch
        best_weights = model.state_dict()
    if epoch % 10 == 0:
        print(f"epoch {epoch:3d}  train loss {running / len(X_tr):.4f}  val acc {val_acc:.4f}  best {best_acc:.4f} @ {best_epoch}")

model.load_state_dict(best_weights)
print(f"restored epoch {best_epoch} (val {best_acc:.4f})")
print(f"test accuracy: {accuracy(model, xt, yt):.4f}")
