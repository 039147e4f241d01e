#!/usr/bin/env python
"""Tabular baseline with early stopping: keep the weights of the best epoch, then score the test split."""
import argparse

import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=120)
parser.add_argument("--patience", type=int, default=100)
parser.add_argument("--lr", type=float, default=1e-3)
parser.add_argument("--seed", type=int, default=9)
args = parser.parse_args()
torch.manual_seed(args.seed)

X, y = make_classification(3000, 40, n_informative=10, n_redundant=5, n_classes=3, n_clusters_per_class=2,
                           flip_y=0.15, class_sep=1.0, random_state=args.seed)
X_tr, X_rest, y_tr, y_rest = train_test_split(X, y, train_size=800, random_state=args.seed)
X_va, X_te, y_va, y_te = train_test_split(X_rest, y_rest, test_size=0.5, random_state=args.seed)
mu, sd = X_tr.mean(0), X_tr.std(0)
to = lambda a: torch.tensor((a - mu) / sd, dtype=torch.float32)
X_tr, X_va, X_te = to(X_tr), to(X_va), to(X_te)
y_tr, y_va, y_te = map(torch.tensor, (y_tr, y_va, y_te))

net = nn.Sequential(nn.Linear(40, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr)


@torch.no_grad()
def score(x, t):
    net.eval()
    logits = net(x)
    return criterion(logits, t).item(), (logits.argmax(1) == t).float().mean().item()


best_loss, best_state, best_epoch = float("inf"), None, -1
for epoch in range(args.epochs):
    net.train()
    perm = torch.randperm(len(X_tr))
    train_loss = 0.0
    for idx in perm.split(16):
        optimizer.zero_grad()
        loss = criterion(net(X_tr[idx]), y_tr[idx])
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * len(idx) / len(X_tr)
    val_loss, val_acc = score(X_va, y_va)
    if val_loss < best_loss:
        best_loss, best_epoch = val_loss, epoch
        best_state = net.state_dict()
    elif epoch - best_epoch >= args.patience:
        print("stopping early")
        break
    if epoch % 10 == 0:
        print(f"{epoch:4d} train {train_loss:.4f} val {val_loss:.4f} acc {val_acc:.3f}")

net.load_state_dict(best_state)
test_loss, test_acc = score(X_te, y_te)
print(f"best epoch {best_epoch} with validation loss {best_loss:.4f}")
print(f"test loss {test_loss:.4f}  test accuracy {test_acc:.4f}")
