import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)

X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
idx = rng.permutation(len(X))
X, y = X[idx], y[idx]

def make_pairs(X, y, n):
    a = rng.integers(0, len(X), n)
    b = np.empty(n, dtype=int)
    same = np.zeros(n, dtype="float32")
    for i in range(n):
        if i % 2 == 0:
            b[i] = rng.choice(np.flatnonzero(y == y[a[i]]))
            same[i] = 1.0
        else:
            b[i] = rng.choice(np.flatnonzero(y != y[a[i]]))
    return [X[a], X[b]], same

train_pairs, train_same = make_pairs(X[:1300], y[:1300], 5000)
test_pairs, test_same = make_pairs(X[1300:], y[1300:], 1000)

tower = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(16),
    layers.UnitNormalization(),
])
left, right = keras.Input((64,)), keras.Input((64,))
dist = layers.Lambda(lambda t: ops.sqrt(ops.sum(ops.square(t[0] - t[1]), axis=1, keepdims=True) + 1e-8),
                     output_shape=(1,))([tower(left), tower(right)])
siamese = keras.Model([left, right], dist)

def contrastive_loss(y_true, d, margin=1.0):
    y_true = ops.reshape(ops.cast(y_true, d.dtype), (-1, 1))
    return ops.mean((1 - y_true) * ops.square(d) + y_true * ops.square(ops.maximum(margin - d, 0.0)))

siamese.compile(optimizer=keras.optimizers.Adam(1e-3), loss=contrastive_loss)
siamese.fit(train_pairs, train_same, batch_size=64, epochs=8,
            validation_data=(test_pairs, test_same), verbose=2)

d = siamese.predict(test_pairs, verbose=0)[:, 0]
print("mean distance same %.3f / different %.3f" % (d[test_same == 1].mean(), d[test_same == 0].mean()))
print("verification AUC %.3f" % roc_auc_score(test_same, -d))
