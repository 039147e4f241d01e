# house-price style regression, custom loop with keras layers on the torch backend
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
from torch.utils.data import DataLoader, TensorDataset
import keras
from keras import layers, ops
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(1)

X, y = make_friedman1(n_samples=3000, n_features=10, noise=0.5, random_state=0)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=0)
sx = StandardScaler().fit(X_tr)
mu, sd = y_tr.mean(), y_tr.std()
X_tr, X_te = sx.transform(X_tr).astype("float32"), sx.transform(X_te).astype("float32")
t_tr = ((y_tr - mu) / sd).astype("float32")

loader = DataLoader(TensorDataset(torch.from_numpy(X_tr), torch.from_numpy(t_tr)),
                    batch_size=64, shuffle=True)


class PriceNet(keras.Model):
    def __init__(self, width=64):
        super().__init__()
        self.d1 = layers.Dense(width, activation="relu")
        self.d2 = layers.Dense(width, activation="relu")
        self.head = layers.Dense(1)

    def call(self, x):
        return self.head(self.d2(self.d1(x)))


def huber(target, pred, delta=1.0):
    err = ops.abs(target - pred)
    quad = ops.minimum(err, delta)
    return ops.mean(0.5 * quad ** 2 + delta * (err - quad))


net = PriceNet()
net(torch.zeros(1, 10))
optimizer = keras.optimizers.Adam(2e-3)

for epoch in range(20):
    running = 0.0
    for xb, tb in loader:
        net.zero_grad()
        pred = net(xb)
        loss = huber(tb, pred)
        loss.backward()
        weights = net.trainable_weights
        with torch.no_grad():
            optimizer.apply([w.value.grad for w in weights], weights)
        running += loss.item()
    print(f"epoch {epoch + 1:2d}  loss {running / len(loader):.4f}")

pred = net.predict(X_te, verbose=0)[:, 0] * sd + mu
rmse = np.sqrt(np.mean((pred - y_te) ** 2))
r2 = 1 - np.sum((pred - y_te) ** 2) / np.sum((y_te - y_te.mean()) ** 2)
print(f"test rmse {rmse:.3f}   r2 {r2:.3f}")
print("sample predictions", np.round(pred[:6], 2))
print("sample targets    ", np.round(y_te[:6], 2))
