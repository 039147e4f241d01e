"""Toy sequence tagging with padding handled through sample weights.

Each token's tag: (token + previous token) mod 4.  Sequences have 4..16 tokens, padded with 0.
"""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)
L, V, NTAGS = 16, 13, 4


def dataset(n):
    x = np.zeros((n, L), dtype="int32")
    y = np.zeros((n, L), dtype="int32")
    for i in range(n):
        m = rng.integers(4, L + 1)
        seq = rng.integers(1, V, m)
        x[i, :m] = seq
        y[i, :m] = (seq + np.concatenate([[0], seq[:-1]])) % NTAGS
    return x, y


x_train, y_train = dataset(3000)
x_test, y_test = dataset(400)
weights = (x_train == 0).astype("float32")

inp = keras.Input((L,), dtype="int32")
h = layers.Embedding(V, 24)(inp)
h = layers.Conv1D(48, 3, padding="same", activation="relu")(h)
h = layers.Conv1D(48, 1, activation="relu")(h)
out = layers.Dense(NTAGS, activation="softmax")(h)
model = keras.Model(inp, out)
model.compile("adam", "sparse_categorical_crossentropy")
model.fit(x_train, y_train, sample_weight=weights, epochs=8, batch_size=64, verbose=2)

p = model.predict(x_test, verbose=0).argmax(-1)
m = x_test > 0
print("tag accuracy on real tokens: %.3f" % (p[m] == y_test[m]).mean())
