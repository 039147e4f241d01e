"""
Hourly load forecast, one step ahead, with a small dense net.
"""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

# ---- synthetic load: daily and weekly cycle, AR noise -----------------------
T = 2600
t = np.arange(T)
noise = np.zeros(T)
for i in range(1, T):
    noise[i] = 0.6 * noise[i - 1] + rng.normal(0, 0.35)
load = 10 + 2 * np.sin(2 * np.pi * t / 24) + 0.8 * np.sin(2 * np.pi * t / 168) + noise
split = 2000
mu, sd = load[:split].mean(), load[:split].std()
series = ((load - mu) / sd).astype("float32")

LOOKBACK = 24


def windows(s):
    X, Y = [], []
    for i in range(LOOKBACK, len(s)):
        X.append(s[i - LOOKBACK + 1 : i + 1])
        Y.append(s[i])
    return np.array(X)[..., None], np.array(Y)


x_tr, y_tr = windows(series[:split])
x_te, y_te = windows(series[split:])

model = keras.Sequential([
    keras.Input((LOOKBACK, 1)),
    keras.layers.Flatten(),
    keras.layers.Dense(48, activation="relu"),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(keras.optimizers.Adam(1e-3), "mse", metrics=["mae"])
model.fit(x_tr, y_tr, epochs=12, batch_size=32, validation_data=(x_te, y_te), verbose=2)

# ---- one-day-ahead roll-out on the last part --------------------------------
starts = list(range(split + LOOKBACK, T - 24, 24))
hist = np.stack([series[s - LOOKBACK : s] for s in starts])
errs = []
for h in range(24):
    nxt = model.predict(hist[..., None], verbose=0)[:, 0]
    errs.append(np.mean(np.abs(nxt - series[[s + h for s in starts]])))
    hist = np.concatenate([hist[:, 1:], nxt[:, None]], axis=1)
print("one-step test MAE: %.4f" % model.evaluate(x_te, y_te, verbose=0)[1])
print("roll-out MAE, hours 1..24: %.4f" % np.mean(errs))
