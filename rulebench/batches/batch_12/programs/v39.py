import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

# one step ahead forecast of a noisy seasonal series
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
t = np.arange(1500)
s = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(2 * np.pi * t / 168) + 0.002 * t + 0.1 * rng.normal(size=1500)
s = np.diff(s).astype("float32")
split, L = 1200, 30
mu, sd = s[:split].mean(), s[:split].std()
z = (s - mu) / sd


def windows(a):
    x = np.stack([a[i:i + L] for i in range(len(a) - L)])
    return x[..., None], a[L:]


xtr, ytr = windows(z[:split])
xte, yte = windows(z[split - L:])
model = keras.Sequential([layers.Input((L, 1)), layers.LSTM(24), layers.Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse")
model.fit(xtr, ytr, epochs=12, batch_size=32, verbose=2, validation_data=(xte, yte))
p = model.predict(xte, verbose=0)[:, 0]
print("test mse", ((p - yte) ** 2).mean(), "persistence", ((xte[:, -1, 0] - yte) ** 2).mean(), "mean", yte.var())
