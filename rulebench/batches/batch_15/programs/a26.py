import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score

# machine vibration: train an autoencoder on normal windows only, alarm on large error
keras.utils.set_random_seed(23)
rng = np.random.default_rng(23)
L = 64
t = np.arange(L) / L


def normal(n):
    ph = rng.uniform(0, 2 * np.pi, (n, 1))
    a = rng.uniform(0.8, 1.2, (n, 1))
    return a * np.sin(2 * np.pi * 3 * t + ph) + 0.4 * np.sin(2 * np.pi * 6 * t + 2 * ph) \
        + 0.1 * rng.normal(size=(n, L))


def faulty(n):
    x = normal(n)
    pos = rng.integers(5, L - 10, n)
    for i, p in enumerate(pos):
        x[i, p:p + 6] += rng.choice([-1, 1]) * np.hanning(6) * 1.2
    return x


x_train = normal(3000)
x_calib = normal(500)
x_test = np.concatenate([normal(500), faulty(500)])
y_test = np.r_[np.zeros(500), np.ones(500)]
scale = x_train.std()
x_train, x_calib, x_test = (a.astype("float32") / scale for a in (x_train, x_calib, x_test))

ae = keras.Sequential([
    layers.Input((L,)),
    layers.Dense(48, activation="gelu"),
    layers.Dense(4),
    layers.Dense(48, activation="gelu"),
    layers.Dense(L),
])
ae.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mae")
ae.fit(x_train, x_train, epochs=30, batch_size=64, validation_data=(x_calib, x_calib), verbose=2)


def error(x):
    return np.abs(ae.predict(x, verbose=0) - x).max(axis=1)


threshold = np.quantile(error(x_calib), 0.98)
e = error(x_test)
print("threshold %.3f" % threshold)
print("false alarms %.3f  detected %.3f" % ((e[:500] > threshold).mean(), (e[500:] > threshold).mean()))
print("AUC %.4f" % roc_auc_score(y_test, e))
