import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import keras

# Forecast the next value of a noisy double-seasonal series with an LSTM
seed = 8
keras.utils.set_random_seed(seed)
rng = np.random.default_rng(seed)

n = 2600
t = np.arange(n)
series = (10 + 0.001 * t + 2.0 * np.sin(2 * np.pi * t / 24) + 1.2 * np.sin(2 * np.pi * t / 168 + 0.7)
          + 0.3 * rng.normal(size=n)).astype("float32")

split, val_split, window = 2000, 1700, 48
mean, std = series[:val_split].mean(), series[:val_split].std()
scaled = (series - mean) / std


def make(lo, hi):
    xs = np.stack([scaled[i - window:i] for i in range(lo, hi)])[..., None]
    return xs, scaled[lo:hi]


x_tr, y_tr = make(window, val_split)
x_va, y_va = make(val_split, split)
x_te, y_te = make(split, n)

model = keras.Sequential([
    keras.layers.Input((window, 1)),
    keras.layers.LSTM(32),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="mse", metrics=["mae"])
model.fit(x_tr, y_tr, validation_data=(x_va, y_va), epochs=18, batch_size=64, verbose=2,
          callbacks=[keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)])

pred = model.predict(x_te, verbose=0)[:, 0] * std + mean
true = series[split:]
naive = series[split - 1:-1]
print("test MAE: LSTM %.3f, last value %.3f, same hour yesterday %.3f" % (
    np.abs(pred - true).mean(), np.abs(naive - true).mean(), np.abs(series[split - 24:-24] - true).mean()))
