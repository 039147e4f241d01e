# Pretrain on digits 0-4, then reuse the frozen features for digits 5-9 with few labels
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(10)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
old, new = y < 5, y >= 5
x_old, y_old = x[old], y[old]
x_new, y_new = x[new], y[new] - 5

base = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.BatchNormalization(),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu", padding="same"),
    layers.BatchNormalization(),
    layers.Flatten(),
], name="base")

source = keras.Sequential([base, layers.Dense(5, activation="softmax")])
source.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source.fit(x_old, y_old, batch_size=32, epochs=6, validation_split=0.1, verbose=2)

# --- second task ------------------------------------------------------
base.trainable = False
inputs = keras.Input((8, 8, 1))
h = base(inputs, training=False)
h = layers.Dropout(0.2)(h)
target = keras.Model(inputs, layers.Dense(5, activation="softmax")(h))
target.compile(
    keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"]
)
print("trainable tensors:", len(target.trainable_weights), "of", len(target.weights))

n_label = 200
target.fit(
    x_new[:n_label], y_new[:n_label],
    validation_data=(x_new[n_label:], y_new[n_label:]),
    batch_size=20, epochs=15, verbose=2,
)
loss, acc = target.evaluate(x_new[n_label:], y_new[n_label:], verbose=0)
print("target task: loss %.4f accuracy %.4f with %d labels" % (loss, acc, n_label))
