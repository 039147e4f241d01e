import os
os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np
from keras import layers
from sklearn.metrics import roc_auc_score

# Bearing monitoring. We only have recordings of healthy machines for training; anything the
# autoencoder can not rebuild is reported to the maintenance crew.
SEED = 2
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
T = 64
t = np.arange(T)


def normal(n):
    f = rng.uniform(0.05, 0.12, (n, 1))
    ph = rng.uniform(0, 2 * np.pi, (n, 1))
    a = rng.uniform(0.5, 1.0, (n, 1))
    return a * np.sin(2 * np.pi * f * t + ph) + 0.3 * a * np.sin(4 * np.pi * f * t + 2 * ph)


def defective(n):
    x = normal(n)
    pos, per = rng.integers(0, 12, n), rng.integers(12, 20, n)
    for i in range(n):
        x[i, pos[i]::per[i]] += rng.choice([-1, 1]) * rng.uniform(0.5, 1.0)
    return x


def noisy(x):
    return (x + 0.05 * rng.normal(size=x.shape)).astype("float32")[..., None]


x_train = noisy(normal(3000))
x_val = noisy(normal(500))
x_test = np.concatenate([noisy(normal(600)), noisy(defective(150))])
y_test = np.r_[np.zeros(600), np.ones(150)]

ae = keras.Sequential([
    keras.Input((T, 1)),
    layers.GaussianNoise(0.1),
    layers.Conv1D(16, 7, strides=2, padding="same", activation="relu"),
    layers.Conv1D(16, 5, strides=2, padding="same", activation="relu"),
    layers.Flatten(),
    layers.Dense(6, name="code"),
    layers.Dense(16 * 16, activation="relu"),
    layers.Reshape((16, 16)),
    layers.Conv1DTranspose(16, 5, strides=2, padding="same", activation="relu"),
    layers.Conv1DTranspose(1, 7, strides=2, padding="same"),
])
ae.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse")
ae.fit(x_train, x_train, validation_data=(x_val, x_val), epochs=14, batch_size=64, verbose=2)


def score(x):
    return np.abs(ae.predict(x, verbose=0) - x).max(axis=(1, 2))


thr = np.quantile(score(x_val), 0.98)
s = score(x_test)
print("alarm threshold %.3f, false alarms %.3f, caught %.3f" % (
    thr, (s[y_test == 0] > thr).mean(), (s[y_test == 1] > thr).mean()))
print("AUC defective vs healthy: %.4f" % roc_auc_score(y_test, s))
