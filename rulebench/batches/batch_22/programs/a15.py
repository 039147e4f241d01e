"""One-step forecast of a seasonal series with an LSTM, chronological split."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers


def generate_series(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = 0.5 * noise[i - 1] + rng.normal(0, 0.3)
    return 10 + 2 * np.sin(2 * np.pi * t / 24) + np.sin(2 * np.pi * t / 7) + noise


def to_supervised(series, lookback):
    X = np.lib.stride_tricks.sliding_window_view(series, lookback)[:-1]
    y = series[lookback:]
    return X[..., None].astype("float32"), y[:, None].astype("float32")


def main():
    keras.utils.set_random_seed(4)
    lookback = 28
    series = generate_series()
    n_train, n_val = 2100, 450
    mu, sd = series[:n_train].mean(), series[:n_train].std()
    scaled = (series - mu) / sd

    X_train, y_train = to_supervised(scaled[:n_train], lookback)
    X_val, y_val = to_supervised(scaled[n_train:n_train + n_val], lookback)
    X_test, y_test = to_supervised(scaled[n_train + n_val:], lookback)

    model = keras.Sequential([
        keras.Input((lookback, 1)),
        layers.LSTM(32),
        layers.Dense(1),
    ])
    model.compile(optimizer=keras.optimizers.Adam(5e-3, clipnorm=1.0), loss="mse", metrics=["mae"])
    model.fit(
        X_train, y_train,
        validation_data=(X_val, y_val),
        epochs=10,
        batch_size=64,
        callbacks=[keras.callbacks.ReduceLROnPlateau(patience=3, factor=0.5)],
        verbose=2,
    )

    pred = model.predict(X_test, verbose=0) * sd + mu
    truth = y_test * sd + mu
    naive = X_test[:, -1] * sd + mu
    seasonal = X_test[:, -24] * sd + mu
    print("LSTM MAE          %.4f" % np.abs(pred - truth).mean())
    print("last-value MAE    %.4f" % np.abs(naive - truth).mean())
    print("seasonal naive MAE %.4f" % np.abs(seasonal - truth).mean())


if __name__ == "__main__":
    main()
