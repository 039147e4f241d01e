"""Hourly load forecasting with an LSTM (TensorFlow backend)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)

HISTORY, HORIZON = 24, 6
hours = np.arange(24 * 130)
daily = np.sin(2 * np.pi * (hours % 24) / 24 - 1.2)
evening = np.exp(-0.5 * ((hours % 24 - 19) / 2.0) ** 2)
weekend = ((hours // 24) % 7 >= 5).astype(float)
drift = 0.15 * np.sin(2 * np.pi * hours / (24 * 30))
noise = np.zeros(len(hours))
for i in range(1, len(hours)):
    noise[i] = 0.8 * noise[i - 1] + 0.05 * rng.normal()
load = 10 + 2 * daily + 1.5 * evening * (1 - 0.5 * weekend) + 2 * drift + noise

cut_val, cut_test = int(0.7 * len(load)), int(0.85 * len(load))
mean, std = load[:cut_val].mean(), load[:cut_val].std()
series = ((load - mean) / std).astype("float32")
calendar = np.stack([np.sin(2 * np.pi * hours / 24), np.cos(2 * np.pi * hours / 24), weekend], 1)
table = np.concatenate([series[:, None], calendar], 1).astype("float32")


def windows(start, stop):
    X, Y = [], []
    for t in range(start + HISTORY, stop - HORIZON + 1):
        X.append(table[t - HISTORY:t])
        Y.append(series[t:t + HORIZON])
    return np.array(X), np.array(Y)


x_train, y_train = windows(0, cut_val)
x_val, y_val = windows(cut_val, cut_test)
x_test, y_test = windows(cut_test, len(load))

model = keras.Sequential([
    keras.Input((HISTORY, table.shape[1])),
    layers.LSTM(32),
    layers.Dense(32, activation="relu"),
    layers.Dense(HORIZON),
])
model.compile(keras.optimizers.Adam(3e-3), loss="mae", jit_compile=False)
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=7, batch_size=64, verbose=2,
          callbacks=[keras.callbacks.ReduceLROnPlateau(patience=2, factor=0.5)])

pred = model.predict(x_test, verbose=0)
err = np.abs(pred - y_test).mean(0) * std
persist = np.abs(x_test[:, -1:, 0] - y_test).mean(0) * std
day_ago = np.abs(x_test[:, :HORIZON, 0] - y_test).mean(0) * std
for h in range(HORIZON):
    print(f"t+{h + 1}: lstm {err[h]:.3f}  last value {persist[h]:.3f}  day before {day_ago[h]:.3f}")
