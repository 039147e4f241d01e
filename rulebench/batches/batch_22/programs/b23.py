#!/usr/bin/env python
# Residual MLP for tabular classification (synthetic sensor data)
import argparse

import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", default=15, type=int)
parser.add_argument("--bs", default=128, type=int)
parser.add_argument("--max-lr", default=0.1, type=float)
parser.add_argument("--seed", default=42, type=int)
args = parser.parse_args()
torch.manual_seed(args.seed)

X, y = make_classification(n_samples=8000, n_features=40, n_informative=20, n_redundant=5, n_classes=6,
                           n_clusters_per_class=3, class_sep=1.2, random_state=args.seed)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.2, random_state=args.seed)
scaler = StandardScaler().fit(X_train)
X_train, X_val = scaler.transform(X_train), scaler.transform(X_val)


def loader(X, y, shuffle):
    ds = TensorDataset(torch.from_numpy(X).float(), torch.from_numpy(y).long())
    return DataLoader(ds, batch_size=args.bs, shuffle=shuffle)


train_loader, val_loader = loader(X_train, y_train, True), loader(X_val, y_val, False)


class Residual(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Sequential(nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, d), nn.BatchNorm1d(d), nn.ReLU(),
                               nn.Dropout(0.1), nn.Linear(d, d))

    def forward(self, x):
        return x + self.f(x)


model = nn.Sequential(nn.Linear(40, 96), Residual(96), Residual(96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 6))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=args.max_lr, momentum=0.9, weight_decay=1e-4, nesterov=True)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=args.max_lr, epochs=args.epochs, steps_per_epoch=len(train_loader),
    pct_start=0.3, div_factor=1000)


def run_epoch(loader, train):
    model.train(train)
    total, correct, n = 0.0, 0, 0
    with torch.set_grad_enabled(train):
        for xb, yb in loader:
            out = model(xb)
            loss = criterion(out, yb)
            if train:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(xb)
            correct += (out.argmax(1) == yb).sum().item()
            n += len(xb)
    return total / n, correct / n


for epoch in range(args.epochs):
    tr_loss, tr_acc = run_epoch(train_loader, True)
    va_loss, va_acc = run_epoch(val_loader, False)
    scheduler.step()
    print(f"[{epoch + 1:02d}/{args.epochs}] train {tr_loss:.4f} / {tr_acc:.3f}   val {va_loss:.4f} / {va_acc:.3f}")
