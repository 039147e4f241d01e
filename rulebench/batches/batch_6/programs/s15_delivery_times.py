import os
os.environ["KERAS_BACKEND"] = "jax"
"""Promise a delivery time that we keep in 90% of the cases (quantile regression)."""
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)
n = 4000
X = rng.uniform(-1, 1, (n, 5)).astype("float32")
base = 30 + 10 * X[:, 0] + 6 * np.sin(3 * X[:, 1])
minutes = base + rng.gamma(2.0, 3.0 + 2.0 * (X[:, 2] > 0)).astype("float32")
y = ((minutes - 30) / 10).astype("float32")[:, None]
xtr, ytr, xte, yte = X[:3200], y[:3200], X[3200:], y[3200:]

TAU = 0.9


def pinball(y_true, y_pred):
    err = y_pred - y_true
    return ops.mean(ops.maximum(TAU * err, (TAU - 1.0) * err), axis=-1)


model = keras.Sequential([layers.Input((5,)), layers.Dense(64, activation="swish"),
                          layers.Dense(64, activation="swish"), layers.Dense(1)])
model.compile(keras.optimizers.Adam(2e-3), loss=pinball)
model.fit(xtr, ytr, epochs=20, batch_size=64, validation_data=(xte, yte), verbose=2)
q = model.predict(xte, verbose=0)
print("promises kept: %.3f   mean promised minutes: %.2f" % ((yte <= q).mean(), 30 + 10 * q.mean()))
