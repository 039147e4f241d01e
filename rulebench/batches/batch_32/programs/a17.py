import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# Hourly load forecasting: 24 hours in, next hour out.
SEED = 17
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
n = 6000
t = np.arange(n)
ar = np.zeros(n)
for i in range(1, n):
    ar[i] = 0.7 * ar[i - 1] + rng.normal()
load = 50 + 10 * np.sin(2 * np.pi * t / 24) + 4 * np.sin(2 * np.pi * t / 168) + 3 * ar
split = 4800
mu, sd = load[:split].mean(), load[:split].std()
z = ((load - mu) / sd).astype("float32")

LOOKBACK = 24


def windows(series):
    X, y = [], []
    for i in range(LOOKBACK, len(series)):
        X.append(series[i - LOOKBACK + 1:i + 1])
        y.append(series[i])
    return np.array(X)[..., None], np.array(y)


X_train, y_train = windows(z[:split])
X_test, y_test = windows(z[split:])

model = keras.Sequential([
    layers.Input((LOOKBACK, 1)),
    layers.Conv1D(24, 5, activation="relu"),
    layers.Conv1D(24, 5, activation="relu"),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse")
model.fit(X_train, y_train, epochs=12, batch_size=32, verbose=2, validation_data=(X_test, y_test))

pred = model.predict(X_test, verbose=0).ravel() * sd
print("test MAE of the one-hour-ahead forecast: %.3f MW" % np.abs(pred - y_test * sd).mean())
