import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

# hourly load, predict the next hour from the last 24
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
n = 2600
t = np.arange(n)
load = (50 + 14 * np.sin(2 * np.pi * t / 24) + 6 * np.sin(2 * np.pi * t / 12 + 1)
        + 3 * np.sin(2 * np.pi * t / 168) + rng.normal(0, 1.0, n))

split = 2000
mean, std = load[:split].mean(), load[:split].std()
series = ((load - mean) / std).astype("float32")
WINDOW = 24


def make_windows(s):
    X, y = [], []
    for i in range(len(s) - WINDOW):
        X.append(s[i:i + WINDOW])
        y.append(s[i + WINDOW - 1])
    return np.array(X)[..., None], np.array(y)


X_train, y_train = make_windows(series[:split])
X_test, y_test = make_windows(series[split:])
print(X_train.shape, y_train.shape)

model = keras.Sequential([
    layers.Input((WINDOW, 1)),
    layers.Conv1D(24, 5, activation="relu", padding="causal"),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse", metrics=["mae"])
model.fit(X_train, y_train, epochs=20, batch_size=32,
          validation_data=(X_test, y_test), verbose=2)
print("test mae (kW): %.3f" % (model.evaluate(X_test, y_test, verbose=0)[1] * std))

# roll the forecast forward for one day and compare with what happened
errs = []
for start in range(split, n - 24, 48):
    hist = list(series[start - WINDOW:start])
    for k in range(24):
        w = np.array(hist[-WINDOW:], dtype="float32")[None, :, None]
        hist.append(float(model(w)[0, 0]))
    errs.append(np.abs(np.array(hist[-24:]) - series[start:start + 24]).mean())
print("24 h rolling forecast mae (kW): %.3f" % (np.mean(errs) * std))
