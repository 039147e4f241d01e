import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras.layers import GRU, Dense, Input

keras.utils.set_random_seed(0)

# hourly series: daily cycle, weekly cycle, AR noise
n = 2200
rng = np.random.default_rng(0)
t = np.arange(n)
noise = np.zeros(n)
for i in range(1, n):
    noise[i] = 0.8 * noise[i - 1] + 0.25 * rng.normal()
series = 2 * np.sin(2 * np.pi * t / 24) + np.sin(2 * np.pi * t / 168) + noise

split = 1700
mu, sd = series[:split].mean(), series[:split].std()
s = ((series - mu) / sd).astype("float32")
WINDOW = 24


def windows(a):
    x = np.stack([a[i:i + WINDOW] for i in range(len(a) - WINDOW)])[..., None]
    return x, a[WINDOW:, None]


x_train, y_train = windows(s[:split])
x_test, y_test = windows(s[split:])
print(x_train.shape, x_test.shape)

model = keras.Sequential([Input((WINDOW, 1)), GRU(24), Dense(1)])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse")
for epoch in range(10):
    h = model.fit(x_train, y_train, epochs=1, batch_size=64, verbose=0)
    print("epoch", epoch, "mse %.4f" % h.history["loss"][0])
pred = model.predict(x_test, batch_size=256, verbose=0)
print("test mse %.4f, of the naive last value %.4f" % (np.mean((pred - y_test) ** 2), np.mean((x_test[:, -1] - y_test) ** 2)))
