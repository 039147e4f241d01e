import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

# transfer: features learned on digits 0-5, new head for 6-9 with few labels
keras.utils.set_random_seed(105)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
perm = np.random.permutation(len(x))
x, y = x[perm], y[perm]
src, dst = y < 6, y >= 6

base = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.Conv2D(32, 3, activation="relu", strides=2, padding="same"),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
], name="base")
source_model = keras.Sequential([base, layers.Dense(6, activation="softmax")])
source_model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source_model.fit(x[src], y[src], epochs=8, batch_size=32, verbose=2)

base.trainable = False
new_model = keras.Sequential([base, layers.Dense(4, activation="softmax")])
new_model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
xd, yd = x[dst], y[dst] - 6
new_model.fit(xd[:200], yd[:200], epochs=15, batch_size=20, validation_data=(xd[200:], yd[200:]), verbose=2)
print("target accuracy", new_model.evaluate(xd[200:], yd[200:], verbose=0)[1])
