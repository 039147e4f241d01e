import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(9)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
low, high = y < 5, y >= 5

# stage 1: learn features on the digits 0-4
base = keras.Sequential([
    layers.Input((8, 8, 1)),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu", padding="same"),
    layers.Flatten(),
], name="features")
stage1 = keras.Sequential([base, layers.Dense(5, activation="softmax")])
stage1.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
stage1.fit(x[low], y[low], epochs=6, batch_size=32, verbose=2)

# stage 2: transfer to the digits 5-9
model = keras.Sequential([base, layers.Dense(32, activation="relu"), layers.Dense(5, activation="softmax")])
for layer in model.layers:
    layer.trainable = False
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
xh, yh = x[high], y[high] - 5
n = int(0.8 * len(xh))
model.fit(xh[:n], yh[:n], epochs=10, batch_size=32, validation_data=(xh[n:], yh[n:]), verbose=2)
print("transfer accuracy", model.evaluate(xh[n:], yh[n:], verbose=0)[1])
