import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, callbacks

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
n = 3000
t = np.linspace(0, 1, 64)
freq = rng.choice([3, 4, 5, 6, 7, 8], n)
phase = rng.uniform(0, 2 * np.pi, n)
x = np.sin(2 * np.pi * freq[:, None] * t + phase[:, None]) + rng.normal(0, 0.9, (n, 64))
x = x[..., None].astype("float32")
y = np.searchsorted([3, 4, 5, 6, 7, 8], freq)
x_tr, y_tr, x_va, y_va = x[:2400], y[:2400], x[2400:], y[2400:]

net = keras.Sequential([
    layers.Input((64, 1)),
    layers.Conv1D(16, 9, activation="relu", padding="same"),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 5, activation="relu", padding="same"),
    layers.GlobalAveragePooling1D(),
    layers.Dense(6, activation="softmax"),
])
net.compile(keras.optimizers.Adam(5e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])

cbs = [
    callbacks.ReduceLROnPlateau(monitor="val_accuracy", mode="min", factor=0.2, patience=1, verbose=1),
]
net.fit(x_tr, y_tr, validation_data=(x_va, y_va), epochs=20, batch_size=32,
        callbacks=cbs, verbose=2)
print("val:", net.evaluate(x_va, y_va, verbose=0))
print("lr:", float(net.optimizer.learning_rate.value))
