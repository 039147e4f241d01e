"""Probabilistic regression: predict mean and spread of next-hour demand (in units of 1000 MWh).
The network returns (mu, log_sigma) and is trained with the Gaussian negative log-likelihood."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers, ops

SEED = 21
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

n = 6000
hour = rng.uniform(0, 24, n)
temp = rng.normal(12, 8, n)
weekend = rng.integers(0, 2, n)
mean = 0.30 + 0.08 * np.sin(2 * np.pi * (hour - 7) / 24) + 0.002 * np.maximum(16 - temp, 0) - 0.04 * weekend
std = 0.004 + 0.010 * (np.abs(hour - 18) < 3)
demand = mean + std * rng.normal(size=n)

feats = np.stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24),
                  np.sin(4 * np.pi * hour / 24), np.cos(4 * np.pi * hour / 24),
                  (temp - 12) / 8, weekend], axis=1).astype("float32")
target = demand.astype("float32")[:, None]
tr, te = slice(0, 5000), slice(5000, None)


def gaussian_nll(y_true, y_pred):
    mu, log_s = y_pred[:, :1], ops.clip(y_pred[:, 1:], -7.0, 3.0)
    return ops.mean(log_s + 0.5 * ops.square((y_true - mu) / ops.exp(log_s)) + 0.9189, axis=-1)


def rmse_mu(y_true, y_pred):
    return ops.sqrt(ops.mean(ops.square(y_true - y_pred[:, :1])))


inp = keras.Input((6,))
h = layers.Dense(48, activation="swish")(inp)
h = layers.Dense(48, activation="swish")(h)
out = layers.Dense(2, bias_initializer=keras.initializers.Constant(0.0))(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(2e-3, clipnorm=1.0), loss=gaussian_nll, metrics=[rmse_mu])
model.fit(feats[tr], target[tr], validation_data=(feats[te], target[te]), epochs=30, batch_size=64, verbose=2,
          callbacks=[keras.callbacks.ReduceLROnPlateau(patience=4, factor=0.4)])

p = model.predict(feats[te], verbose=0)
mu, s = p[:, 0], np.exp(p[:, 1])
y = target[te][:, 0]
print("share of test points inside the 90%% band: %.3f" % np.mean(np.abs(y - mu) < 1.645 * s))
print("test R2 of the mean: %.4f" % (1 - np.mean((y - mu) ** 2) / np.var(y)))
