import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(23)
rng = np.random.default_rng(23)

# hourly load: daily and weekly pattern, AR noise, a slow trend
HOURS = 24 * 7 * 16
t = np.arange(HOURS)
noise = np.zeros(HOURS)
for i in range(1, HOURS):
    noise[i] = 0.8 * noise[i - 1] + rng.normal(scale=1.5)
load = 60 + 12 * np.sin(2 * np.pi * t / 24 - 1.0) + 6 * np.sin(2 * np.pi * t / 168) + 0.002 * t + noise

n_train, n_val = int(0.7 * HOURS), int(0.15 * HOURS)
mean, std = load[:n_train].mean(), load[:n_train].std()
z = ((load - mean) / std).astype("float32")

WINDOW, HORIZON = 48, 6


def windows(series):
    n = len(series) - WINDOW - HORIZON + 1
    x = np.stack([series[i : i + WINDOW] for i in range(n)])[..., None]
    y = np.stack([series[i + WINDOW : i + WINDOW + HORIZON] for i in range(n)])
    return x, y


x_train, y_train = windows(z[:n_train])
x_val, y_val = windows(z[n_train - WINDOW : n_train + n_val])
x_test, y_test = windows(z[n_train + n_val - WINDOW :])
print(x_train.shape, x_val.shape, x_test.shape)

model = keras.Sequential(
    [
        keras.Input((WINDOW, 1)),
        layers.Conv1D(24, 3, padding="causal", activation="relu"),
        layers.Conv1D(24, 3, padding="causal", dilation_rate=2, activation="relu"),
        layers.Conv1D(24, 3, padding="causal", dilation_rate=4, activation="relu"),
        layers.Flatten(),
        layers.Dense(HORIZON),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(
    x_train,
    y_train,
    validation_data=(x_val, y_val),
    epochs=8,
    batch_size=64,
    callbacks=[keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=2)],
    verbose=2,
)

pred = model.predict(x_test, verbose=0) * std + mean
true = y_test * std + mean
last_day = x_test[:, WINDOW - 24 : WINDOW - 24 + HORIZON, 0] * std + mean
print(f"MAE model          {np.abs(pred - true).mean():.3f}")
print(f"MAE same hour t-24 {np.abs(last_day - true).mean():.3f}")
for h in range(HORIZON):
    print(f"  step +{h + 1}: {np.abs(pred[:, h] - true[:, h]).mean():.3f}")
