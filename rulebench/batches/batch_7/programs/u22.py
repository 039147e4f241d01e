"""Next-hour load forecasting with a GRU."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
T = 2400
t = np.arange(T)
load = 50 + 15 * np.sin(2 * np.pi * t / 24) + 6 * np.sin(2 * np.pi * t / 12 + 1) + rng.normal(0, 1.0, T)
mean, std = load[:1800].mean(), load[:1800].std()
series = ((load - mean) / std).astype("float32")

WIN = 24


def make_windows(s):
    xs, ys = [], []
    for i in range(len(s) - WIN):
        w = s[i:i + WIN]
        xs.append(w)
        ys.append(w[-1])
    return np.array(xs)[..., None], np.array(ys)


x_train, y_train = make_windows(series[:1800])
x_val, y_val = make_windows(series[1800:])

model = keras.Sequential([keras.Input((WIN, 1)), layers.GRU(24), layers.Dense(1)])
model.compile(keras.optimizers.Adam(5e-3), "mse", metrics=["mae"])
model.fit(x_train, y_train, epochs=12, batch_size=32, validation_data=(x_val, y_val), verbose=2)

# roll the model over the last day, one hour at a time
hist = list(series[-WIN - 24:-24])
out = []
for _ in range(24):
    p = float(model.predict(np.array(hist[-WIN:], dtype="float32")[None, :, None], verbose=0)[0, 0])
    out.append(p)
    hist.append(p)
err = np.abs(np.array(out) - series[-24:]).mean() * std
print("day-ahead MAE (MW): %.2f" % err)
