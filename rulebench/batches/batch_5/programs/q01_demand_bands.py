import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)

# hourly demand with noise that grows during the day
n = 4000
hour = rng.uniform(0, 24, n)
temp = rng.normal(15, 6, n)
base = 3 + 2 * np.sin((hour - 8) / 24 * 2 * np.pi) + 0.05 * temp
y = base + rng.normal(0, 0.1 + 0.03 * hour, n)
X = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi), hour / 24, (temp - 15) / 6], 1).astype("float32")
y = y.astype("float32")[:, None]
Xtr, ytr, Xte, yte = X[:3200], y[:3200], X[3200:], y[3200:]

QUANTILES = np.array([0.1, 0.5, 0.9], dtype="float32")


def pinball(y_true, y_pred):
    # y_true (batch, 1) against one prediction for each quantile (batch, 3)
    err = y_true - y_pred
    return ops.mean(ops.maximum(QUANTILES * err, (QUANTILES - 1.0) * err), axis=-1)


inp = keras.Input((4,))
h = layers.Dense(64, activation="swish")(inp)
h = layers.Dense(64, activation="swish")(h)
low = layers.Dense(1)(h)
d1 = layers.Dense(1, activation="softplus")(h)
d2 = layers.Dense(1, activation="softplus")(h)
mid = layers.Add()([low, d1])
high = layers.Add()([mid, d2])
out = layers.Concatenate()([low, mid, high])
model = keras.Model(inp, out)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=pinball)
model.fit(Xtr, ytr, validation_data=(Xte, yte), epochs=25, batch_size=64, verbose=2)

p = model.predict(Xte, verbose=0)
for i, q in enumerate(QUANTILES):
    print(f"target quantile {q:.1f} observed coverage {np.mean(yte[:, 0] <= p[:, i]):.3f}")
