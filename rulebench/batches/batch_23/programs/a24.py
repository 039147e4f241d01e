"""Heteroscedastic regression: predict mean and spread of a very noisy target."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(23)


class NoisyFunction:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def mean(self, x):
        return 0.2 * np.sin(1.5 * x[:, 0]) + 0.1 * x[:, 1]

    def std(self, x):
        return 0.03 + 0.25 / (1 + np.exp(-2.5 * x[:, 0]))

    def sample(self, n):
        x = self.rng.uniform(-2, 2, (n, 3))
        y = self.mean(x) + self.std(x) * self.rng.normal(size=n)
        return x.astype("float32"), y.astype("float32")[:, None]


def gaussian_nll(y_true, y_pred):
    mu, raw = ops.split(y_pred, 2, axis=-1)
    sigma = ops.softplus(raw) + 1e-3
    z = (y_true - mu) / sigma
    return ops.mean(0.5 * ops.square(z) + ops.log(sigma) + 0.5 * np.log(2 * np.pi), axis=-1)


def build():
    inp = keras.Input((3,))
    h = layers.Dense(64, activation="silu")(inp)
    h = layers.Dense(64, activation="silu")(h)
    mu = layers.Dense(1)(h)
    raw = layers.Dense(1, bias_initializer=keras.initializers.Constant(-0.5))(h)
    return keras.Model(inp, layers.Concatenate()([mu, raw]))


process = NoisyFunction(23)
x_train, y_train = process.sample(5000)
x_test, y_test = process.sample(1500)

model = build()
model.compile(keras.optimizers.Adam(2e-3, clipnorm=5.0), loss=gaussian_nll)
model.fit(x_train, y_train, validation_data=(x_test, y_test), epochs=15, batch_size=64, verbose=2)

out = model.predict(x_test, verbose=0)
mu, sigma = out[:, 0], np.log1p(np.exp(out[:, 1])) + 1e-3
true_mu, true_sigma = process.mean(x_test), process.std(x_test)
oracle = 0.5 * ((y_test[:, 0] - true_mu) / true_sigma) ** 2 + np.log(true_sigma) + 0.5 * np.log(2 * np.pi)

print("test nll:", round(float(model.evaluate(x_test, y_test, verbose=0)), 4))
print("nll of the true process:", round(float(oracle.mean()), 4))
print("rmse of the mean:", round(float(np.sqrt(((mu - true_mu) ** 2).mean())), 4))
print("rmse of sigma:", round(float(np.sqrt(((sigma - true_sigma) ** 2).mean())), 4))
for k in (1, 2):
    inside = np.abs(y_test[:, 0] - mu) < k * sigma
    print(f"share within {k} sigma: {inside.mean():.3f}")
