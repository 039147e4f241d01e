import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(12)
KEEP_PROB = 0.9
X, y = load_digits(return_X_y=True)
X = X / 16.0
p = np.random.permutation(len(X))
X, y = X[p], y[p]

model = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(64, activation="relu"),
    layers.Dropout(KEEP_PROB),
    layers.Dense(64, activation="relu"),
    layers.Dropout(KEEP_PROB),
    layers.Dense(32, activation="relu"),
    layers.Dropout(KEEP_PROB),
    layers.Dense(10, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X[:1400], y[:1400], epochs=30, batch_size=64, validation_data=(X[1400:], y[1400:]), verbose=2)
print("accuracy on held-out digits:", model.evaluate(X[1400:], y[1400:], verbose=0)[1])
