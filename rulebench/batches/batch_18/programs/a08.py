import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)

# daily temperature anomaly, 6 years
t = np.arange(365 * 6)
temp = 9 * np.sin(2 * np.pi * t / 365.25) + np.convolve(rng.normal(0, 2.5, len(t) + 4), np.ones(5) / 5, "valid") + 11

n_train = 365 * 5
mu, sd = temp[:n_train].mean(), temp[:n_train].std()
z = ((temp - mu) / sd).astype("float32")

lookback = 20
X = np.stack([z[i:i + lookback] for i in range(len(z) - lookback)])[..., None]
y = z[lookback:]
split = n_train - lookback
X_train, y_train = X[:split], y[:split]
X_test, y_test = X[split:], y[split:]

model = keras.Sequential([
    keras.Input((lookback, 1)),
    layers.Conv1D(16, 3, activation="relu"),
    layers.Conv1D(16, 3, activation="relu"),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="relu"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(X_train, y_train, epochs=10, batch_size=32, validation_data=(X_test, y_test), verbose=2)

pred = model.predict(X_test, verbose=0)[:, 0] * sd + mu
true = y_test * sd + mu
print("MAE in degrees: %.2f" % np.mean(np.abs(pred - true)))
print("naive (yesterday) MAE: %.2f" % np.mean(np.abs(temp[n_train:] - temp[n_train - 1:-1])))
