"""Vehicle fuel model: three-way consumption class from raw sensor readings."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(7)

N_CLASSES = 3
BATCH = 64
EPOCHS = 14


def make_data(n=3000):
    rng = np.random.default_rng(7)
    rpm = rng.normal(2400, 700, n)
    temp = rng.normal(88, 6, n)
    load = rng.normal(45, 15, n)
    pressure = rng.normal(1013, 12, n)
    weight = rng.normal(1450, 260, n)
    X = np.stack([rpm, temp, load, pressure, weight], 1)
    z = (X - X.mean(0)) / X.std(0)
    score = z[:, 0] * z[:, 2] + 0.8 * z[:, 4] - 0.6 * np.abs(z[:, 1]) + 0.4 * z[:, 3]
    y = np.digitize(score + 0.1 * rng.normal(size=n), np.quantile(score, [0.33, 0.66]))
    return X.astype("float32"), y.astype("int64")


def build_model(n_features):
    return keras.Sequential([
        keras.Input((n_features,)),
        layers.BatchNormalization(momentum=0.9),
        layers.Dense(64),
        layers.BatchNormalization(momentum=0.9),
        layers.Activation("relu"),
        layers.Dense(32),
        layers.BatchNormalization(momentum=0.9),
        layers.Activation("relu"),
        layers.Dense(N_CLASSES),
    ])


X, y = make_data()
X_train, y_train = X[:2400], y[:2400]
X_val, y_val = X[2400:], y[2400:]

loader = torch.utils.data.DataLoader(
    torch.utils.data.TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train)),
    batch_size=BATCH, shuffle=True, generator=torch.Generator().manual_seed(0))

model = build_model(X.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = torch.nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    model.train()
    running, seen = 0.0, 0
    for xb, yb in loader:
        optimizer.zero_grad()
        logits = model(xb)
        loss = criterion(logits, yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
        seen += len(xb)

    model.eval()
    with torch.no_grad():
        val_logits = model(torch.from_numpy(X_val), training=False)
        val_pred = val_logits.argmax(1).numpy()
    print(f"epoch {epoch + 1:2d}  loss {running / seen:.4f}  val acc {(val_pred == y_val).mean():.3f}")

confusion = np.zeros((N_CLASSES, N_CLASSES), int)
np.add.at(confusion, (y_val, val_pred), 1)
print("confusion matrix:")
print(confusion)
