import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# four kinds of synthetic beeps, 1 second at 256 Hz
keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)
SR, N = 256, 1600
t = np.arange(SR) / SR


def beep(kind):
    f = rng.uniform(10, 30)
    ph = rng.uniform(0, 2 * np.pi)
    if kind == 0:
        s = np.sin(2 * np.pi * f * t + ph)
    elif kind == 1:
        s = np.sin(2 * np.pi * (f * t + 12 * t ** 2) + ph)
    elif kind == 2:
        s = np.sin(2 * np.pi * f * t + ph) * (1 + np.sin(2 * np.pi * 4 * t)) / 2
    else:
        s = np.sign(np.sin(2 * np.pi * f * t + ph))
    return s + 0.3 * rng.normal(size=SR)


y = rng.integers(0, 4, N)
x = np.stack([beep(k) for k in y]).astype("float32")[..., None]
x_tr, y_tr, x_te, y_te = x[:1300], y[:1300], x[1300:], y[1300:]

encoder = keras.Sequential([
    layers.Input((SR, 1)),
    layers.Conv1D(8, 9, strides=2, activation="relu", padding="same"),
    layers.Conv1D(16, 9, strides=2, activation="relu", padding="same"),
    layers.Conv1D(16, 9, strides=2, activation="relu", padding="same"),
    layers.GlobalAveragePooling1D(),
], name="encoder")
encoder.trainable = False

inputs = keras.Input((SR, 1))
h = encoder(inputs)
outputs = layers.Dense(4, activation="softmax")(h)
model = keras.Model(inputs, outputs)

model.compile(optimizer=keras.optimizers.Adam(3e-3),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_tr, y_tr, validation_data=(x_te, y_te), epochs=20, batch_size=32, verbose=2)
print("test:", model.evaluate(x_te, y_te, verbose=0))
