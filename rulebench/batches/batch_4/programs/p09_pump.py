"""Anomaly detection for pump sensors with an autoencoder.

Train on normal operation only, flag rows whose reconstruction error is above
the 99th percentile of the training errors.
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

SEED = 5
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

N_SENSORS, N_HIDDEN = 16, 4
mix = rng.normal(size=(N_HIDDEN, N_SENSORS))


def normal_rows(n):
    state = rng.normal(size=(n, N_HIDDEN))
    return 20 + 3 * state @ mix + rng.normal(0, 0.6, (n, N_SENSORS))


def broken_rows(n):
    rows = normal_rows(n)
    # one or two sensors drift away from what the others say
    for r in rows:
        for k in rng.choice(N_SENSORS, size=rng.integers(1, 3), replace=False):
            r[k] += rng.choice([-1, 1]) * rng.uniform(3, 6)
    return rows


train = normal_rows(3000)
test = np.concatenate([normal_rows(500), broken_rows(200)])
is_broken = np.r_[np.zeros(500), np.ones(200)]

scaler = StandardScaler().fit(train)
x_train, x_test = scaler.transform(train), scaler.transform(test)


def build_autoencoder():
    inputs = keras.Input((N_SENSORS,))
    x = layers.Dense(32, activation="relu")(inputs)
    code = layers.Dense(N_HIDDEN, name="code")(x)
    x = layers.Dense(32, activation="relu")(code)
    outputs = layers.Dense(N_SENSORS, activation="sigmoid")(x)
    return keras.Model(inputs, outputs)


autoencoder = build_autoencoder()
autoencoder.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse")
autoencoder.fit(x_train, x_train, epochs=40, batch_size=64, validation_split=0.1, verbose=2)


def errors(x):
    return np.mean((autoencoder.predict(x, verbose=0) - x) ** 2, axis=1)


threshold = np.percentile(errors(x_train), 99)
err = errors(x_test)
flagged = err > threshold
print("mean training error      %.4f" % errors(x_train).mean())
print("detected %.1f %% of the broken rows, %.1f %% false alarms" % (
    100 * flagged[is_broken == 1].mean(), 100 * flagged[is_broken == 0].mean()))
print("AUC %.3f" % roc_auc_score(is_broken, err))
