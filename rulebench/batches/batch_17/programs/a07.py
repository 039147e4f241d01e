import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score

# anomaly detection on sensor windows: autoencoder trained on normal data only
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
L = 64


def normal(n):
    t = np.arange(L)
    ph, f = rng.uniform(0, 2 * np.pi, (n, 1)), rng.uniform(0.9, 1.1, (n, 1))
    return np.sin(2 * np.pi * f * t / 16 + ph) + 0.1 * rng.normal(size=(n, L))


def strange(n):
    w = normal(n)
    for row in w:
        s = rng.integers(0, L - 12)
        row[s:s + 12] = row[s:s + 12] * rng.uniform(-0.4, 0.4) + rng.uniform(-0.4, 0.4)
    return w


x_train = normal(2000).astype("float32")
x_val = normal(300).astype("float32")
x_test = np.concatenate([normal(300), strange(100)]).astype("float32")
y_test = np.r_[np.zeros(300), np.ones(100)]

ae = keras.Sequential([
    keras.Input((L,)),
    layers.Dense(48, activation="gelu"),
    layers.Dense(6),
    layers.Dense(48, activation="gelu"),
    layers.Dense(L),
])
ae.compile(optimizer="adam", loss="mse")
ae.fit(x_train, x_train, epochs=40, batch_size=64, validation_data=(x_val, x_val), verbose=2,
       callbacks=[keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True)])

score = ((ae.predict(x_test, verbose=0) - x_test) ** 2).mean(1)
thr = np.quantile(((ae.predict(x_val, verbose=0) - x_val) ** 2).mean(1), 0.99)
print("AUC", roc_auc_score(y_test, score))
print("found %.2f false alarms %.3f" % ((score[300:] > thr).mean(), (score[:300] > thr).mean()))
