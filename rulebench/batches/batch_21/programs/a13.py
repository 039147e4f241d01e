# Hourly load forecast, 24 hours ahead, with a small convolutional network.
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(25)

HISTORY, HORIZON = 72, 24

rng = np.random.default_rng(25)
hours = np.arange(24 * 220)
weekend = ((hours // 24) % 7 >= 5).astype("float32")
noise = np.zeros(len(hours))
for i in range(1, len(hours)):
    noise[i] = 0.9 * noise[i - 1] + rng.normal(0, 2.0)
load = 100 + 20 * np.sin(2 * np.pi * (hours - 8) / 24) + 6 * np.sin(4 * np.pi * hours / 24) - 15 * weekend + noise

n_train, n_val = 24 * 150, 24 * 30
mean, std = load[:n_train].mean(), load[:n_train].std()
scaled = ((load - mean) / std).astype("float32")
clock = np.stack([np.sin(2 * np.pi * hours / 168), np.cos(2 * np.pi * hours / 168), weekend], 1)
series = np.concatenate([scaled[:, None], clock], axis=1).astype("float32")


def windows(start, stop, stride):
    xs, ys = [], []
    for s in range(start, stop - HISTORY - HORIZON + 1, stride):
        xs.append(series[s:s + HISTORY])
        ys.append(scaled[s + HISTORY:s + HISTORY + HORIZON])
    return np.stack(xs), np.stack(ys)


x_train, y_train = windows(0, n_train, 3)
x_val, y_val = windows(n_train, n_train + n_val, 3)
x_test, y_test = windows(n_train + n_val, len(hours), 3)
print(x_train.shape, x_val.shape, x_test.shape)

inputs = keras.Input((HISTORY, series.shape[1]))
h = layers.Conv1D(16, 5, strides=2, padding="causal", activation="relu")(inputs)
h = layers.Conv1D(16, 5, strides=2, padding="causal", activation="relu")(h)
h = layers.Flatten()(h)
h = layers.Dense(48, activation="relu")(h)
model = keras.Model(inputs, layers.Dense(HORIZON)(h))
model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(
    x_train, y_train, validation_data=(x_val, y_val), epochs=25, batch_size=64, verbose=2,
    callbacks=[
        keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.5),
    ],
)

pred = model.predict(x_test, verbose=0)
yesterday = x_test[:, -24:, 0]
print("MAE of the network          ", round(float(np.abs(pred - y_test).mean() * std), 3))
print("MAE of 'same as yesterday'  ", round(float(np.abs(yesterday - y_test).mean() * std), 3))
