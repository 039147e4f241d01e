"""
Forecasting a noisy seasonal load curve with a GRU
==================================================

We predict the next hour from the previous 24 hours.
"""
import os

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)

## Prepare the data

rng = np.random.default_rng(5)
n = 4000
t = np.arange(n)
load = (
    10
    + 3 * np.sin(2 * np.pi * t / 24)
    + 1.5 * np.sin(2 * np.pi * t / 8 + 0.4)
    + 1.0 * np.sin(2 * np.pi * t / (24 * 7))
)
noise = np.zeros(n)
for i in range(1, n):
    noise[i] = 0.6 * noise[i - 1] + rng.normal(0, 0.3)
load = (load + noise).astype("float32")
hour = (t % 24) / 24.0
feats = np.stack([load, np.sin(2 * np.pi * hour), np.cos(2 * np.pi * hour)], 1).astype("float32")

n_train, n_val = 2800, 600
mean, std = feats[:n_train].mean(0), feats[:n_train].std(0)
feats = (feats - mean) / std

WINDOW = 24


def windows(a, b):
    part = feats[a:b]
    return keras.utils.timeseries_dataset_from_array(
        data=part,
        targets=part[WINDOW - 1:, 0],
        sequence_length=WINDOW,
        batch_size=64,
        shuffle=(a == 0),
        seed=0,
    )


train_ds = windows(0, n_train)
val_ds = windows(n_train, n_train + n_val)

## Build and train the model

inputs = keras.Input((WINDOW, feats.shape[1]))
h = layers.GRU(24)(inputs)
outputs = layers.Dense(1)(h)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
model.fit(train_ds, validation_data=val_ds, epochs=9, verbose=2)

## Use it: one-step-ahead forecasts on the last weeks

start = n_train + n_val
xs = np.stack([feats[i - WINDOW:i] for i in range(start + WINDOW, n)])
truth = feats[start + WINDOW:n, 0]
pred = model.predict(xs, verbose=0)[:, 0]
print("forecast MAE on unseen weeks (original units): %.3f" % (np.abs(pred - truth).mean() * std[0]))
