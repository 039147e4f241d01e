"""Probabilistic load forecast: predict the level that the load of the next
day stays below with 90% probability (quantile regression)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

SEED = 31
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

QUANTILE = 0.9


def make_data(n):
    hour = rng.integers(0, 24, n)
    temperature = rng.normal(10, 8, n)
    weekend = rng.random(n) < 2 / 7
    mean = 50 + 12 * np.sin((hour - 8) / 24 * 2 * np.pi) - 8 * weekend + 0.6 * np.abs(temperature - 16)
    spread = 2 + 0.25 * np.abs(temperature - 16)
    load = mean + spread * rng.normal(size=n)
    x = np.stack([np.sin(hour / 24 * 2 * np.pi), np.cos(hour / 24 * 2 * np.pi),
                  (temperature - 10) / 8, weekend], axis=1).astype("float32")
    return x, load.astype("float32")


def quantile_loss(q):
    def loss(y_pred, y_true):
        e = y_true - y_pred
        return ops.mean(ops.maximum(q * e, (q - 1) * e), axis=-1)
    return loss


x_train, y_train = make_data(4000)
x_test, y_test = make_data(2000)
mu, sigma = y_train.mean(), y_train.std()

model = keras.Sequential([
    keras.Input((4,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=quantile_loss(QUANTILE))
model.fit(x_train, (y_train - mu) / sigma, batch_size=64, epochs=15,
          validation_data=(x_test, (y_test - mu) / sigma), verbose=2)

pred = model.predict(x_test, batch_size=500, verbose=0)[:, 0] * sigma + mu
for i in range(5):
    print("limit %.1f  load %.1f" % (pred[i], y_test[i]))
e = y_test - pred
print("load below the limit: %.3f of the test hours" % np.mean(y_test <= pred))
print("pinball loss on the test hours: %.3f" % np.mean(np.maximum(QUANTILE * e, (QUANTILE - 1) * e)))
