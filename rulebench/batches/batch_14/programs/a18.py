import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
# daily returns-like series, AR(2) with noise + weekly pattern
n = 1500
s = np.zeros(n)
for t in range(2, n):
    s[t] = 0.6 * s[t-1] - 0.3 * s[t-2] + rng.normal()
s += 0.8 * np.sin(2 * np.pi * np.arange(n) / 7)

split = 1200
mu, sd = s[:split].mean(), s[:split].std()
z = (s - mu) / sd
WINDOW = 20

def windows(a, w):
    X, y = [], []
    for k in range(len(a) - w):
        X.append(a[k:k + w])
        y.append(a[k + w - 1])
    return np.array(X, "float32")[..., None], np.array(y, "float32")

Xtr, ytr = windows(z[:split], WINDOW)
Xte, yte = windows(z[split - WINDOW:], WINDOW)

model = keras.Sequential([
    keras.Input((WINDOW, 1)),
    layers.GRU(24),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse")
model.fit(Xtr, ytr, epochs=20, batch_size=64, validation_data=(Xte, yte), verbose=2)

mse = float(np.mean((model.predict(Xte, verbose=0).ravel() - yte) ** 2))
print("one-step-ahead test MSE (scaled):", mse)
print("next day forecast:", float(model.predict(z[None, -WINDOW:, None], verbose=0)[0, 0]) * sd + mu)
