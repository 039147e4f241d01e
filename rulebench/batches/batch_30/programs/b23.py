# Classify small RGB tiles: which texture orientation appears, under colour and noise.
# The tiles come from a torch-style loader as (N, C, H, W).
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(5)
keras.utils.set_random_seed(5)
S = 16


def make_tiles(n):
    yy, xx = np.mgrid[0:S, 0:S]
    labels = rng.integers(0, 6, n)
    out = np.empty((n, 3, S, S), np.float32)
    for i, lab in enumerate(labels):
        ang = np.pi * lab / 6 + rng.normal(0, 0.06)
        freq = rng.uniform(1.0, 2.2)
        phase = rng.uniform(0, 2 * np.pi)
        g = np.sin(freq * (np.cos(ang) * xx + np.sin(ang) * yy) + phase)
        col = rng.uniform(0.1, 1.0, 3)
        out[i] = col[:, None, None] * g + rng.normal(0, 1.2, (3, S, S))
    return out, labels


def to_channels_last(batch):
    n, c, h, w = batch.shape
    return batch.reshape(n, h, w, c)


x_train, y_train = make_tiles(1200)
x_test, y_test = make_tiles(600)
x_train, x_test = to_channels_last(x_train), to_channels_last(x_test)
print("train", x_train.shape, "test", x_test.shape)

inputs = keras.Input((S, S, 3))
x = layers.Conv2D(12, 5, padding="same", activation="relu")(inputs)
x = layers.MaxPooling2D(2)(x)
x = layers.Conv2D(24, 3, padding="same", activation="relu")(x)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(6)(x)
net = keras.Model(inputs, outputs)
net.compile(
    keras.optimizers.Adam(3e-3),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
net.fit(x_train, y_train, batch_size=40, epochs=12, validation_data=(x_test, y_test), verbose=2)
print("final test accuracy: %.3f" % net.evaluate(x_test, y_test, verbose=0)[1])
