import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# waveform classification; the optimizer keeps an EMA of the weights that replaces them after training
keras.utils.set_random_seed(41)
rng = np.random.default_rng(41)


def wave(kind, t):
    f, ph = rng.uniform(1.5, 3), rng.uniform(0, 1)
    s = (f * t + ph) % 1.0
    if kind == 0:
        w = np.sin(2 * np.pi * s)
    elif kind == 1:
        w = np.where(s < 0.5, 1.0, -1.0)
    elif kind == 2:
        w = 2 * s - 1
    else:
        w = 1 - 4 * np.abs(s - 0.5)
    return w + rng.normal(0, 0.25, len(t))


t = np.linspace(0, 1, 64)
y = rng.integers(0, 4, 2000)
X = np.stack([wave(k, t) for k in y])[..., None].astype("float32")
model = keras.Sequential([layers.Input((64, 1)), layers.Conv1D(24, 7, activation="relu", padding="same"),
                          layers.MaxPooling1D(2), layers.Conv1D(32, 5, activation="relu", padding="same"),
                          layers.GlobalAveragePooling1D(), layers.Dense(4)])
opt = keras.optimizers.SGD(0.3, momentum=0.9, use_ema=True, ema_momentum=0.97, clipnorm=1.0)
model.compile(opt, keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(X[:1500], y[:1500], epochs=12, batch_size=50, verbose=2)
loss, acc = model.evaluate(X[1500:], y[1500:], verbose=0)
print("test accuracy with averaged weights %.4f" % acc)
