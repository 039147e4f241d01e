import os
os.environ["KERAS_BACKEND"] = "tensorflow"
# Adding problem with variable length: sum the marked numbers, padded steps are masked
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
PADV = -9.0


def make(n, tmax=16):
    x = np.full((n, tmax, 2), PADV, "float32")
    y = np.zeros((n, 1), "float32")
    for i in range(n):
        L = rng.integers(6, tmax + 1)
        v, m = rng.uniform(0, 1, L), np.zeros(L)
        m[rng.choice(L, 2, replace=False)] = 1
        x[i, :L, 0], x[i, :L, 1] = v, m
        y[i] = (v * m).sum()
    return x, y


xtr, ytr = make(3000)
xte, yte = make(500)
model = keras.Sequential([
    layers.Input((16, 2)),
    layers.Masking(PADV),
    layers.GRU(32),
    layers.Dense(1),
])
model.compile(keras.optimizers.Adam(8e-3, clipnorm=1.0), loss="mse")
cb = [keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=3, min_lr=5e-4)]
model.fit(xtr, ytr, epochs=12, batch_size=64, verbose=2, callbacks=cb)
print("test mse %.5f (predicting the mean: %.5f)" % (model.evaluate(xte, yte, verbose=0), yte.var()))
