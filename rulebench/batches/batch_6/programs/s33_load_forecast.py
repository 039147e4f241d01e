import os
os.environ["KERAS_BACKEND"] = "jax"
# One-step-ahead forecast of a noisy load curve with a window of past values
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(77)
rng = np.random.default_rng(77)
T = 3000
t = np.arange(T)
ar = np.zeros(T)
for i in range(1, T):
    ar[i] = 0.6 * ar[i - 1] + rng.normal(0, 1.0)
series = 2.0 * np.sin(2 * np.pi * t / 24) + ar
split = 2400
mean, std = series[:split].mean(), series[:split].std()
series = ((series - mean) / std).astype("float32")

WINDOW = 24


def windows(s):
    rolled = np.lib.stride_tricks.sliding_window_view(s, WINDOW)
    X = rolled[1:]
    y = s[WINDOW:]
    return X[:, :, None].copy(), y


X_tr, y_tr = windows(series[:split])
X_te, y_te = windows(series[split:])
print(X_tr.shape, y_tr.shape)

model = keras.Sequential([layers.Input((WINDOW, 1)), layers.Conv1D(16, 5, activation="relu"),
                          layers.Flatten(), layers.Dense(32, activation="relu"), layers.Dense(1)])
model.compile(keras.optimizers.Adam(1e-3), loss="mse")
model.fit(X_tr, y_tr, epochs=20, batch_size=64, validation_data=(X_te, y_te), verbose=2)
p = model.predict(X_te, verbose=0).ravel()
print("one-step-ahead test RMSE: %.4f" % np.sqrt(np.mean((p - y_te) ** 2)))
