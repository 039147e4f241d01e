import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# forecast tomorrow's return of a noisy series from the last 20 days
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
T = 2200
s = np.zeros(T)
for t in range(2, T):
    s[t] = 0.55 * s[t - 1] - 0.3 * s[t - 2] + rng.normal()
WINDOW = 20


def make_windows(series, window):
    xs, ys = [], []
    for i in range(window, len(series)):
        xs.append(series[i - window + 1:i + 1])
        ys.append(series[i])
    return np.array(xs, "float32")[..., None], np.array(ys, "float32")


cut = 1700
mu, sd = s[:cut].mean(), s[:cut].std()
z = (s - mu) / sd
x_tr, y_tr = make_windows(z[:cut], WINDOW)
x_va, y_va = make_windows(z[cut:], WINDOW)

model = keras.Sequential([
    keras.Input((WINDOW, 1)),
    layers.Conv1D(16, 5, padding="causal", activation="relu"),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(1),
])
model.compile(keras.optimizers.Adam(1e-3), loss="mse", metrics=["mae"])
model.fit(x_tr, y_tr, validation_data=(x_va, y_va), epochs=12, batch_size=32, verbose=2)
naive = np.mean((y_va[1:] - y_va[:-1]) ** 2)
print("val mse %.4f   persistence mse %.4f" % (model.evaluate(x_va, y_va, verbose=0)[0], naive))
