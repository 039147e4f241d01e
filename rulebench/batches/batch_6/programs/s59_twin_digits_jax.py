import os
os.environ["KERAS_BACKEND"] = "jax"
"""Siamese network with a shared encoder and Hadsell's contrastive loss."""
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(27)
rng = np.random.default_rng(27)
d = load_digits()
X, y = (d.data / 16.0).astype("float32"), d.target
p = rng.permutation(len(X))
X, y = X[p], y[p]


def pairs(X, y, n):
    i = rng.integers(0, len(X), n)
    same = rng.random(n) < 0.5
    j = np.array([rng.choice(np.where((y == y[a]) == s)[0]) for a, s in zip(i, same)])
    return [X[i], X[j]], same.astype("float32")


tr_x, tr_y = pairs(X[:1300], y[:1300], 4000)
te_x, te_y = pairs(X[1300:], y[1300:], 800)
enc = keras.Sequential([layers.Input((64,)), layers.Dense(96, "relu"), layers.Dense(32, "relu"), layers.Dense(8)])
a, b = keras.Input((64,)), keras.Input((64,))
dist = layers.Lambda(lambda t: ops.sqrt(ops.maximum(ops.sum(ops.square(t[0] - t[1]), axis=1, keepdims=True), 1e-7)), output_shape=(1,))([enc(a), enc(b)])
model = keras.Model([a, b], dist)


def contrastive(t, d, margin=1.0):
    t = ops.reshape(t, (-1, 1))
    return ops.mean(t * ops.square(d) + (1 - t) * ops.square(ops.maximum(margin - d, 0.0)))


model.compile(keras.optimizers.RMSprop(1e-3), loss=contrastive)
model.fit(tr_x, tr_y, epochs=12, batch_size=64, validation_data=(te_x, te_y), verbose=2)
acc = ((model.predict(te_x, verbose=0).ravel() < 0.5) == (te_y > 0.5)).mean()
print("pair accuracy at distance 0.5: %.4f" % acc)
