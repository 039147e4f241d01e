"""Transfer: train a base on digits 0-4, freeze it, fit a new head for digits 5-9."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(55)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
low, high = y < 5, y >= 5

base = keras.Sequential([
    keras.Input((8, 8, 1)),
    layers.Conv2D(16, 3, padding="same", activation="relu"),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(64, activation="relu"),
], name="base")

source = keras.Sequential([base, layers.Dense(5, activation="softmax")])
source.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source.fit(x[low], y[low], epochs=8, batch_size=32, verbose=2)

base.trainable = False
target = keras.Sequential([base, layers.Dense(5, activation="softmax")])
target.compile(keras.optimizers.Adam(5e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
xh, yh = x[high], y[high] - 5
n = 600
target.fit(xh[:n], yh[:n], epochs=30, batch_size=32, validation_data=(xh[n:], yh[n:]), verbose=2)
print("new digits accuracy:", target.evaluate(xh[n:], yh[n:], verbose=0)[1])
