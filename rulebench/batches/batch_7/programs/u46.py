import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from keras.callbacks import ReduceLROnPlateau

keras.utils.set_random_seed(15)
rng = np.random.default_rng(15)


def beat(kind):
    t = np.linspace(-1, 1, 96)
    c = rng.uniform(-0.3, 0.3)
    g = np.exp(-((t - c) / 0.06) ** 2)
    if kind == 1:
        g += 0.6 * np.exp(-((t - c - 0.35) / 0.1) ** 2)
    if kind == 2:
        g = np.exp(-((t - c) / 0.15) ** 2) * 0.9
    if kind == 3:
        g -= 0.5 * np.exp(-((t - c - 0.2) / 0.07) ** 2)
    return g + rng.normal(0, 0.3, 96)


y = rng.integers(0, 4, 1600)
x = np.array([beat(k) for k in y], dtype="float32")[..., None]
model = keras.Sequential([
    keras.Input((96, 1)),
    layers.Conv1D(16, 9, strides=2, activation="relu"),
    layers.Conv1D(32, 7, strides=2, activation="relu"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(32, activation="relu"),
    layers.Dense(4, activation="softmax"),
])
model.compile(keras.optimizers.Adam(4e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
plateau = ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=3, verbose=1)
model.fit(x[:1280], y[:1280], validation_data=(x[1280:], y[1280:]), epochs=20, batch_size=32, callbacks=[plateau], verbose=2)
