import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# Weak signal: next day return from yesterday's indicators, best possible R2 is about 0.1
keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
n = 6000
X = rng.normal(size=(n, 12)).astype("float32")
signal = 0.25 * X[:, 0] - 0.2 * np.tanh(X[:, 1] * X[:, 2])
y = (signal + rng.normal(0, 0.85, n)).astype("float32")
train, valid, test = slice(0, 4000), slice(4000, 5000), slice(5000, n)
print("share of variance that can be explained", signal.var() / y.var())

steps = 4000 // 128 * 30
model = keras.Sequential([
    layers.Input((12,)),
    layers.Dense(32, activation="gelu", kernel_regularizer=keras.regularizers.l2(1e-3)),
    layers.Dropout(0.2),
    layers.Dense(1, kernel_initializer="zeros"),
])
opt = keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(3e-3, steps), weight_decay=1e-2,
                             use_ema=True, ema_momentum=0.98)
model.compile(opt, "mse")
model.fit(X[train], y[train], validation_data=(X[valid], y[valid]), epochs=30, batch_size=128, verbose=2,
          callbacks=[keras.callbacks.EarlyStopping(patience=8, restore_best_weights=True)])

p = model.predict(X[test], verbose=0)[:, 0]
print("test R2", 1 - ((p - y[test]) ** 2).mean() / y[test].var(), "correlation", np.corrcoef(p, y[test])[0, 1])
