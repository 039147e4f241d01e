import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(4)


class CultivarNet(keras.Model):
    """The first layer brings the measurements to a common scale."""

    def __init__(self, n_classes, hidden=32):
        super().__init__()
        self.input_norm = layers.BatchNormalization(momentum=0.9)
        self.fc1 = layers.Dense(hidden, activation="relu")
        self.drop = layers.Dropout(0.2)
        self.fc2 = layers.Dense(hidden, activation="relu")
        self.out = layers.Dense(n_classes)

    def call(self, x, training=False):
        x = self.input_norm(x, training=training)
        x = self.fc1(x)
        x = self.drop(x, training=training)
        x = self.fc2(x)
        return self.out(x)


X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.astype("float32"), y, test_size=0.3, stratify=y, random_state=4
)

loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train)),
    batch_size=16,
    shuffle=True,
    drop_last=True,
    generator=torch.Generator().manual_seed(4),
)

model = CultivarNet(n_classes=3)
model(torch.from_numpy(X_train[:2]))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = torch.nn.CrossEntropyLoss()

for epoch in range(40):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for xb, yb in loader:
        logits = model(xb)
        loss = criterion(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
        correct += (logits.argmax(1) == yb).sum().item()
        seen += len(xb)
    if (epoch + 1) % 5 == 0:
        print(f"epoch {epoch + 1:2d}  loss {total / seen:.4f}  train acc {correct / seen:.3f}")

model.eval()
with torch.no_grad():
    logits = model(torch.from_numpy(X_test))
    test_loss = criterion(logits, torch.from_numpy(y_test)).item()
    test_acc = (logits.argmax(1).numpy() == y_test).mean()
print(f"test loss {test_loss:.4f}  test acc {test_acc:.3f}")
