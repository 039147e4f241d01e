"""Hourly load forecasting with a GRU.

We look at the last 24 hours and forecast the next hour.  At the end the
model is used as it would be in the control room: one step ahead, hour by hour.
"""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

n = 5000
t = np.arange(n)
ar = np.zeros(n)
for i in range(1, n):
    ar[i] = 0.85 * ar[i - 1] + rng.normal(0, 1.0)
load = 100 + 18 * np.sin(2 * np.pi * t / 24) + 7 * np.sin(2 * np.pi * t / 12 + 1) + 5 * np.sin(2 * np.pi * t / 168) + 2 * ar

n_train, n_val = 3500, 700
mean, std = load[:n_train].mean(), load[:n_train].std()
series = ((load - mean) / std).astype("float32")[:, None]
train, val, test = series[:n_train], series[n_train:n_train + n_val], series[n_train + n_val:]

WINDOW = 24


def windows(part, shuffle):
    return keras.utils.timeseries_dataset_from_array(
        part, targets=part, sequence_length=WINDOW,
        batch_size=64, shuffle=shuffle, seed=21 if shuffle else None)


inputs = keras.Input((WINDOW, 1))
x = layers.GRU(32)(inputs)
x = layers.Dense(16, activation="relu")(x)
outputs = layers.Dense(1)(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
model.fit(windows(train, True), validation_data=windows(val, False), epochs=12, verbose=2)

_, mae = model.evaluate(windows(val, False), verbose=0)
print("validation MAE %.2f MW" % (mae * std))

# live use: history of 24 hours in, forecast out, compare with what came
history = np.stack([test[i:i + WINDOW] for i in range(len(test) - WINDOW)])
came = test[WINDOW:, 0]
forecast = model.predict(history, verbose=0)[:, 0]
print("live one-step MAE %.2f MW" % (np.abs(forecast - came).mean() * std))
print("same hour as before (persistence) MAE %.2f MW" % (np.abs(history[:, -1, 0] - came).mean() * std))
