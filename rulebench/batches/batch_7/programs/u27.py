import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(12)
X, y = load_digits(return_X_y=True)
X = X / 16.0
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=12)


def make():
    m = keras.Sequential([keras.Input((64,)), layers.Dense(64, activation="relu"),
                          layers.Dense(32, activation="relu"), layers.Dense(10, activation="softmax")])
    m.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return m


# sanity check: can the network memorise one batch?
check = make()
h = check.fit(X_tr[:32], y_tr[:32], epochs=100, batch_size=32, verbose=0)
print("one-batch loss", h.history["loss"][0], "->", h.history["loss"][-1], "acc", h.history["accuracy"][-1])

model = make()
model.fit(X_tr, y_tr, epochs=15, batch_size=32, validation_data=(X_te, y_te), verbose=2)
print("test", model.evaluate(X_te, y_te, verbose=0))
