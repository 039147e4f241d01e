import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# electricity load, predict next 24h from the last 72h
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
T = 24 * 150
t = np.arange(T)
load = 50 + 0.004 * t + 8 * np.sin(2 * np.pi * t / 24) + 4 * np.sin(2 * np.pi * t / 168) + rng.normal(0, 1, T)

PAST, FUT = 72, 24
cut = 24 * 120

def build(a):
    n = len(a) - PAST - FUT + 1
    X = np.stack([a[i:i + PAST] for i in range(n)])
    Y = np.stack([a[i + PAST:i + PAST + FUT] for i in range(n)])
    last = X[:, -24:].copy()
    return X, Y - last, last         # target: change against same hour yesterday

Xtr, Ytr, _ = build(load[:cut])
Xte, Yte, last = build(load[cut:])
m, s = load[:cut].mean(), load[:cut].std()
model = keras.Sequential([
    keras.Input((PAST,)),
    layers.Rescaling(1 / s, offset=-m / s),
    layers.Reshape((PAST, 1)),
    layers.Conv1D(16, 6, strides=3, activation="relu"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
    layers.Dense(FUT),
])
model.compile("adam", "mae")
model.fit(Xtr, Ytr, epochs=15, batch_size=64, shuffle=True, verbose=2,
          validation_data=(Xte, Yte))
pred = model.predict(Xte, verbose=0) + last
true = Yte + last
print("MAE model", np.abs(pred - true).mean(), "MAE yesterday", np.abs(last - true).mean())
