"""Hourly load forecasting with an LSTM (Keras, TensorFlow backend)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

SEED = 1
LOOKBACK = 24


def make_series(n, rng):
    t = np.arange(n)
    daily = np.sin(2 * np.pi * t / 24) + 0.4 * np.sin(4 * np.pi * t / 24 + 0.7)
    weekly = 0.5 * ((t // 24) % 7 < 5)
    ar = np.zeros(n)
    for i in range(1, n):
        ar[i] = 0.8 * ar[i - 1] + rng.normal(0, 0.08)
    return 10 + 2 * daily * (1 + 0.2 * weekly) + weekly + ar


def windows(z):
    idx = np.arange(len(z) - LOOKBACK)
    x = np.stack([z[i:i + LOOKBACK] for i in idx])[..., None]
    return x.astype("float32"), z[LOOKBACK:].astype("float32")


def main():
    keras.utils.set_random_seed(SEED)
    series = make_series(4000, np.random.default_rng(SEED))
    n_train, n_val = 2800, 400
    mean, std = series[:n_train].mean(), series[:n_train].std()
    z = (series - mean) / std
    x_tr, y_tr = windows(z[:n_train])
    x_va, y_va = windows(z[n_train:n_train + n_val])
    x_te, y_te = windows(z[n_train + n_val:])

    model = keras.Sequential([
        keras.Input((LOOKBACK, 1)),
        layers.LSTM(24),
        layers.Dense(1),
    ])
    model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="mse", metrics=["mae"])
    model.fit(x_tr, y_tr, validation_data=(x_va, y_va), epochs=18, batch_size=64, verbose=2,
              callbacks=[keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=3)])

    pred = model.predict(x_te, verbose=0).ravel() * std + mean
    true = y_te * std + mean
    last = x_te[:, -1, 0] * std + mean
    print("test MAE: %.4f" % np.abs(pred - true).mean())
    print("persistence MAE: %.4f" % np.abs(last - true).mean())


if __name__ == "__main__":
    main()
