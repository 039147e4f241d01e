import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np, keras
from keras import layers
from sklearn.metrics import roc_auc_score

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

def make(n, odd):
    t = np.linspace(0, 1, 64)
    f = rng.uniform(2, 4, (n, 1)); ph = rng.uniform(0, 6.28, (n, 1))
    x = np.sin(2 * np.pi * f * t + ph) + rng.normal(0, .1, (n, 64))
    if odd:
        for row in x:
            k = rng.integers(5, 50)
            row[k:k + 6] += rng.choice([-1, 1]) * 1.0
    return x.astype("float32")

x_train = make(1500, False)           # normal machines only
x_val = make(300, False)
x_test = np.concatenate([make(200, False), make(60, True)])
y_test = np.r_[np.zeros(200), np.ones(60)]

ae = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(48, activation="elu"),
    layers.Dense(6),
    layers.Dense(48, activation="elu"),
    layers.Dense(64),
])
ae.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mse")
ae.fit(x_train, x_train, batch_size=64, epochs=40, validation_data=(x_val, x_val), verbose=2)

def score(x):
    return np.abs(ae.predict(x, verbose=0) - x).max(1)

thr = np.quantile(score(x_val), 0.98)
s = score(x_test)
print("threshold", thr)
print("AUC", roc_auc_score(y_test, s))
print("recall", (s[y_test == 1] > thr).mean(), "false alarms", (s[y_test == 0] > thr).mean())
