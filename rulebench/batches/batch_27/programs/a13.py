import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from keras import ops

SEED = 11
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

# hourly bike rentals (counts, can be 0)
n = 8000
hour = rng.integers(0, 24, n)
temp = rng.normal(15, 8, n)
weekend = rng.integers(0, 2, n)
rain = rng.random(n) < 0.2
rate = np.exp(0.3 + 1.2 * np.sin((hour - 7) / 24 * 2 * np.pi) * (1 - 0.5 * weekend)
              + 0.05 * (temp - 15) - 1.5 * rain)
y = rng.poisson(rate).astype("float32")
X = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi),
              (temp - 15) / 8, weekend, rain], 1).astype("float32")
Xtr, Xva, ytr, yva = X[:6500], X[6500:], y[:6500], y[6500:]


def poisson_nll(y_true, y_pred):
    return ops.mean(y_pred - y_true * ops.log(y_pred))


inp = keras.Input((5,))
h = keras.layers.Dense(32, activation="tanh")(inp)
h = keras.layers.Dense(32, activation="tanh")(h)
# counts are never negative
out = keras.layers.Dense(1, activation="relu",
                         bias_initializer=keras.initializers.Constant(float(ytr.mean())))(h)
model = keras.Model(inp, out)
model.compile("adam", loss=poisson_nll, metrics=["mae"])
for ep in range(12):
    h_ = model.fit(Xtr, ytr[:, None], batch_size=64, epochs=1, verbose=0)
    ev = model.evaluate(Xva, yva[:, None], verbose=0)
    print(f"epoch {ep:2d} train {h_.history['loss'][0]:.4f} val {ev[0]:.4f} mae {ev[1]:.4f}")

p = model.predict(Xva, verbose=0)[:, 0]
print("val MAE", np.mean(np.abs(p - yva)), " always-mean MAE", np.mean(np.abs(ytr.mean() - yva)))
