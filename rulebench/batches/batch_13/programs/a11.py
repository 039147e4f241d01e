import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.metrics import roc_auc_score

rng = np.random.default_rng(50)
keras.utils.set_random_seed(50)


def beats(n, broken=False):
    t = np.linspace(0, 1, 80)
    c = 0.5 + rng.normal(0, 0.02, (n, 1))
    a = rng.uniform(0.9, 1.1, (n, 1))
    wave = a * np.exp(-((t - c) / 0.03) ** 2) + 0.3 * np.exp(-((t - c - 0.22) / 0.06) ** 2)
    if broken:
        wave = wave - 0.35 * np.exp(-((t - c - rng.uniform(0.07, 0.15, (n, 1))) / 0.04) ** 2)
    return (wave + rng.normal(0, 0.04, wave.shape)).astype("float32")


train = beats(2000)                       # healthy hearts only
normal, odd = beats(400), beats(400, broken=True)
mu, sd = train.mean(0), train.std(0) + 1e-3
train, normal, odd = [(v - mu) / sd for v in (train, normal, odd)]

ae = keras.Sequential([
    layers.Input((80,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(4),
    layers.Dense(32, activation="relu"),
    layers.Dense(80),
])
ae.compile(optimizer=keras.optimizers.Adam(2e-3), loss="mae")
stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True)
ae.fit(train, train, epochs=60, batch_size=64, validation_split=0.1, callbacks=[stop], verbose=2)


def score(v):
    return np.abs(ae.predict(v, verbose=0) - v).mean(1)


cutoff = np.quantile(score(train), 0.95)
print("AUC %.3f" % roc_auc_score(np.r_[np.zeros(400), np.ones(400)], np.r_[score(normal), score(odd)]))
print("false alarms %.3f, caught %.3f" % ((score(normal) > cutoff).mean(), (score(odd) > cutoff).mean()))
