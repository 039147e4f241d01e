import os
import tempfile
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

CKPT = os.path.join(tempfile.gettempdir(), f"tabular_ckpt_{os.getpid()}.pt")
torch.manual_seed(0)
np.random.seed(0)

X, y = make_classification(n_samples=3000, n_features=30, n_informative=18, n_classes=6,
                           n_clusters_per_class=2, class_sep=1.2, random_state=4)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=4)
scaler = StandardScaler().fit(X_train)
X_train = torch.tensor(scaler.transform(X_train), dtype=torch.float32)
X_test = torch.tensor(scaler.transform(X_test), dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)


def build_model():
    return nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Dropout(0.1),
                         nn.Linear(128, 128), nn.ReLU(), nn.Dropout(0.1),
                         nn.Linear(128, 6))


def evaluate(model):
    model.eval()
    with torch.no_grad():
        return (model(X_test).argmax(1) == y_test).float().mean().item()


def run_epochs(model, optimizer, first, last, batch_size=64):
    criterion = nn.CrossEntropyLoss()
    for epoch in range(first, last):
        model.train()
        order = torch.randperm(len(X_train))
        total, batches = 0.0, 0
        for i in range(0, len(order), batch_size):
            idx = order[i:i + batch_size]
            optimizer.zero_grad()
            loss = criterion(model(X_train[idx]), y_train[idx])
            loss.backward()
            optimizer.step()
            total += loss.item()
            batches += 1
        print(f"epoch {epoch:2d}  loss {total / batches:.4f}  test acc {evaluate(model):.4f}")


# first session on the cluster, stopped by the time limit
model = build_model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
run_epochs(model, optimizer, 0, 3)
torch.save({"epoch": 3, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, CKPT)
del model, optimizer

# second session
print("resuming from", CKPT)
checkpoint = torch.load(CKPT)
model = build_model()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
optimizer.load_state_dict(checkpoint["optimizer"])
model = build_model()
model.load_state_dict(checkpoint["model"])
run_epochs(model, optimizer, checkpoint["epoch"], 20)
print("final test accuracy", evaluate(model))
os.remove(CKPT)
