import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers, ops

# 10/50/90 percent quantiles of delivery time
keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)
n = 4000
distance = rng.uniform(0, 10, n)
rain = rng.integers(0, 2, n)
minutes = 10 + 3 * distance + 5 * rain + rng.gamma(2, 1 + 0.4 * distance, n)
X = np.stack([(distance - 5) / 2.9, rain - 0.5], 1).astype("float32")
y = minutes[:, None].astype("float32")
X_train, y_train, X_test, y_test = X[:3000], y[:3000], X[3000:], y[3000:]

Q = np.array([0.1, 0.5, 0.9], dtype="float32")


def pinball(y_true, y_pred):
    e = y_true - y_pred
    return ops.mean(ops.maximum(Q * e, (Q - 1) * e), axis=-1)


inp = keras.Input((2,))
h = layers.Dense(32, activation="relu")(inp)
h = layers.Dense(32, activation="relu")(h)
out = layers.Dense(3)(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(5e-3), loss=pinball)
model.fit(X_train, y_train, epochs=25, batch_size=64, verbose=2)

pred = model.predict(X_test, verbose=0)
print("share below each quantile:", (y_test <= pred).mean(axis=0), "wanted", Q)
print("median abs error", np.abs(pred[:, 1:2] - y_test).mean(), "spread", np.abs(y_test - np.median(y_train)).mean())
