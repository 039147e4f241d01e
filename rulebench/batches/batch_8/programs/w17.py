import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
templates = rng.normal(size=(9, 12, 12, 1))


def draw(ids, n):
    y = rng.integers(0, len(ids), n)
    return (templates[np.array(ids)[y]] + rng.normal(0, 0.9, (n, 12, 12, 1))).astype("float32"), y


base = keras.Sequential([
    keras.Input((12, 12, 1)),
    layers.Conv2D(12, 3, activation="relu"),
    layers.BatchNormalization(),
    layers.Conv2D(16, 3, activation="relu"),
    layers.Flatten(),
], name="base")
pre = keras.Sequential([base, layers.Dense(5, activation="softmax")])
pre.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
x, y = draw(range(5), 1500)
pre.fit(x, y, epochs=4, batch_size=32, verbose=2)

# stage 1: head only
base.trainable = False
inputs = keras.Input((12, 12, 1))
h = base(inputs, training=False)
h = layers.Dropout(0.3)(h)
model = keras.Model(inputs, layers.Dense(4, activation="softmax")(h))
x, y = draw(range(5, 9), 1000)
model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:800], y[:800], epochs=6, validation_data=(x[800:], y[800:]), verbose=2)

# stage 2: everything with a small learning rate
base.trainable = True
model.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:800], y[:800], epochs=5, validation_data=(x[800:], y[800:]), verbose=2)
