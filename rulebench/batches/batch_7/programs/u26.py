"""One-step forecast of a noisy seasonal series, compared with the naive forecast."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)
n = 2000
t = np.arange(n)
s = 20 + 0.0003 * t + 4 * np.sin(2 * np.pi * t / 30) + rng.normal(0, 0.8, n)
cut = 1600
mu, sd = s[:cut].mean(), s[:cut].std()
z = ((s - mu) / sd).astype("float32")
W = 30


def windows(a):
    return np.stack([a[i:i + W] for i in range(len(a) - W)])[..., None], a[W:]


x_tr, y_tr = windows(z[:cut])
x_te, y_te = windows(z[cut:])
model = keras.Sequential([keras.Input((W, 1)), layers.LSTM(24), layers.Dense(16, activation="relu"), layers.Dense(1)])
model.compile(keras.optimizers.Adam(3e-3, clipnorm=1.0), loss="mse", metrics=["mae"])
model.fit(x_tr, y_tr, epochs=12, batch_size=32, verbose=2, validation_data=(x_te, y_te))
p = model.predict(x_te, verbose=0).ravel()
print("model MAE", np.abs(p - y_te).mean() * sd)
print("naive MAE", np.abs(x_te[:, -1, 0] - y_te).mean() * sd)
