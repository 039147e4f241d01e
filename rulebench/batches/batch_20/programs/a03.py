import os
os.environ["KERAS_BACKEND"] = "jax"
from dataclasses import dataclass
import numpy as np
import keras
from keras import layers


@dataclass
class Cfg:
    history: int = 36
    horizon: int = 6
    filters: int = 16
    batch: int = 64
    epochs: int = 10
    seed: int = 19


cfg = Cfg()
keras.utils.set_random_seed(cfg.seed)
rng = np.random.default_rng(cfg.seed)

# monthly-like series with trend, season and AR(1) noise
T = 2400
t = np.arange(T)
ar = np.zeros(T)
for i in range(1, T):
    ar[i] = 0.7 * ar[i - 1] + rng.normal(scale=0.3)
series = 20 + 0.002 * t + 4 * np.sin(2 * np.pi * t / 12) + 1.5 * np.cos(2 * np.pi * t / 30) + ar

train_end, val_end = 1600, 2000
mu, sd = series[:train_end].mean(), series[:train_end].std()
z = ((series - mu) / sd).astype("float32")


def windows(lo, hi):
    xs, ys = [], []
    for s in range(lo + cfg.history, hi - cfg.horizon + 1):
        xs.append(z[s - cfg.history:s])
        ys.append(z[s:s + cfg.horizon])
    return np.stack(xs)[..., None], np.stack(ys)


x_tr, y_tr = windows(0, train_end)
x_va, y_va = windows(train_end, val_end)
x_te, y_te = windows(val_end, T)

inp = keras.Input((cfg.history, 1))
h = layers.Conv1D(cfg.filters, 3, padding="causal", activation="relu")(inp)
for rate in (2, 4):
    r = layers.Conv1D(cfg.filters, 3, padding="causal", dilation_rate=rate, activation="relu")(h)
    h = layers.Add()([h, r])
h = layers.Flatten()(h)
out = layers.Dense(cfg.horizon)(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(2e-3), loss="mse", metrics=["mae"])
model.fit(x_tr, y_tr, validation_data=(x_va, y_va), epochs=cfg.epochs, batch_size=cfg.batch, verbose=2)

pred = model.predict(x_te, verbose=0)
seasonal = np.stack([x_te[:, cfg.history - 12 + k, 0] for k in range(cfg.horizon)], 1)
print("model MAE by step:   ", np.round(np.abs(pred - y_te).mean(0) * sd, 3))
print("seasonal-naive MAE:  ", np.round(np.abs(seasonal - y_te).mean(0) * sd, 3))
