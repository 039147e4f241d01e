import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)

# three kinds of sensor windows: sine, square and sawtooth
def window(kind):
    t = np.linspace(0, 1, 64)
    f, ph = rng.uniform(2, 5), rng.uniform(0, 1)
    u = (f * t + ph) % 1
    w = [np.sin(2 * np.pi * u), np.sign(u - 0.5), 2 * u - 1][kind]
    return w + rng.normal(0, 0.3, 64)

labels = np.repeat([0, 1, 2], 400)
signals = np.array([window(k) for k in labels])[..., None].astype("float32")

idx = np.arange(len(signals))
rng.shuffle(idx)
signals = signals[idx]
rng.shuffle(idx)
labels = labels[idx]

split = int(0.8 * len(signals))
x_train, y_train = signals[:split], labels[:split]
x_val, y_val = signals[split:], labels[split:]

model = keras.Sequential([
    keras.Input((64, 1)),
    layers.Conv1D(16, 7, activation="relu", padding="same"),
    layers.MaxPooling1D(2),
    layers.Conv1D(32, 5, activation="relu", padding="same"),
    layers.GlobalMaxPooling1D(),
    layers.Dense(32, activation="relu"),
    layers.Dense(3, activation="softmax"),
])
model.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=15, batch_size=32, validation_data=(x_val, y_val), verbose=2)
