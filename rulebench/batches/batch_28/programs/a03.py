"""Anomaly detection on machine sensor readings with a small autoencoder.

Twelve channels driven by three hidden states.  We train on normal data and flag
readings whose reconstruction error is large.
"""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import roc_auc_score

SEED = 5
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)


def readings(n, broken=False):
    s = rng.normal(size=(n, 3))
    mix = np.random.default_rng(77).normal(size=(3, 12))
    x = np.tanh(s @ mix) * 4 + s @ mix + rng.normal(scale=0.25, size=(n, 12))
    if broken:
        # one sensor pair drifts away from the others
        j = rng.integers(0, 12, size=n)
        x[np.arange(n), j] += rng.choice([-1, 1], size=n) * rng.uniform(2.5, 5.0, size=n)
    return x * np.linspace(1, 20, 12) + np.linspace(5, 300, 12)


train = readings(4000)
val = readings(800)
test_ok, test_bad = readings(800), readings(800, broken=True)

sc = StandardScaler().fit(train)
train, val, test_ok, test_bad = [sc.transform(a).astype("float32") for a in (train, val, test_ok, test_bad)]

inp = keras.Input((12,))
h = keras.layers.Dense(64, activation="relu")(inp)
h = keras.layers.Dense(32, activation="relu")(h)
code = keras.layers.Dense(4, name="code")(h)
h = keras.layers.Dense(32, activation="relu")(code)
h = keras.layers.Dense(64, activation="relu")(h)
out = keras.layers.Dense(12, activation="sigmoid")(h)
ae = keras.Model(inp, out)
ae.compile(optimizer="adam", loss="mse")

hist = ae.fit(train, train, validation_data=(val, val), epochs=30, batch_size=64, verbose=0)
for e in range(0, 30, 5):
    print(f"epoch {e:2d} loss {hist.history['loss'][e]:.4f} val {hist.history['val_loss'][e]:.4f}")


def score(a):
    return ((a - ae.predict(a, verbose=0)) ** 2).mean(1)


s_ok, s_bad = score(test_ok), score(test_bad)
auc = roc_auc_score(np.r_[np.zeros(len(s_ok)), np.ones(len(s_bad))], np.r_[s_ok, s_bad])
print(f"reconstruction mse normal {s_ok.mean():.4f}  broken {s_bad.mean():.4f}")
print(f"detection AUC {auc:.3f}")
