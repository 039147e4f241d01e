import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(2020)

# %% hourly electricity load, synthetic
rng = np.random.default_rng(1)
hours = np.arange(24 * 150)
day = np.sin(2 * np.pi * (hours % 24) / 24 - 1.2)
week = np.where((hours // 24) % 7 >= 5, -0.6, 0.2)
ar = np.zeros(len(hours))
for i in range(1, len(hours)):
    ar[i] = 0.9 * ar[i - 1] + rng.normal(0, 0.15)
load = 50 + 10 * (day + week) + 5 * ar
features = np.stack([load,
                     np.sin(2 * np.pi * hours / 24), np.cos(2 * np.pi * hours / 24),
                     ((hours // 24) % 7 >= 5)], 1).astype("float32")

# %% split by time, scale with the training part
n_train, n_val = 24 * 100, 24 * 25
mu, sd = features[:n_train].mean(0), features[:n_train].std(0)
scaled = (features - mu) / sd

PAST, AHEAD = 48, 3


# the target of the window that starts at i is hour i + PAST + AHEAD - 1
def windows(start, stop):
    part = scaled[start:stop]
    n = len(part) - PAST - AHEAD + 1
    x = np.stack([part[i:i + PAST] for i in range(n)])
    y = part[PAST + AHEAD - 1:PAST + AHEAD - 1 + n, 0]
    return x, y


x_train, y_train = windows(0, n_train)
x_val, y_val = windows(n_train, n_train + n_val)
x_test, y_test = windows(n_train + n_val, len(scaled))

# %% model
inp = keras.Input((PAST, 4))
h = layers.GRU(24)(inp)
out = layers.Dense(1)(h)
model = keras.Model(inp, out)
model.compile(optimizer=keras.optimizers.Adam(5e-3, clipnorm=1.0), loss="mse", metrics=["mae"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=64, epochs=8, verbose=2)

# %% compare with naive forecasts
pred = model.predict(x_test, verbose=0)[:, 0]
mae = np.mean(np.abs(pred - y_test)) * sd[0]
last = np.mean(np.abs(x_test[:, -1, 0] - y_test)) * sd[0]
yesterday = np.mean(np.abs(x_test[:, -(24 - AHEAD + 1), 0] - y_test)) * sd[0]
print(f"test MAE {mae:.3f} MW, last value {last:.3f} MW, same hour yesterday {yesterday:.3f} MW")
