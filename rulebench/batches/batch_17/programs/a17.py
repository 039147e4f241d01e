import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x, y = load_digits(return_X_y=True)
x = (x / 16.0).astype("float32")
x_train, y_train, x_test, y_test = x[:1300], y[:1300], x[1300:], y[1300:]


def pairs(x, y, n):
    """half of the pairs show the same digit (label 1), half two different ones (label 0)"""
    a = rng.integers(0, len(x), n)
    b = np.empty(n, int)
    same = np.arange(n) % 2
    for i in range(n):
        pool = np.flatnonzero(y == y[a[i]]) if same[i] else np.flatnonzero(y != y[a[i]])
        b[i] = rng.choice(pool)
    return x[a], x[b], same.astype("float32")


def contrastive_loss(y_true, d, margin=1.0):
    y_true = ops.reshape(y_true, (-1, 1))
    return ops.mean((1 - y_true) * ops.square(d) + y_true * ops.square(ops.maximum(margin - d, 0.0)))


tower = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(8),
])
ia, ib = keras.Input((64,)), keras.Input((64,))
diff = tower(ia) - tower(ib)
dist = ops.sqrt(ops.sum(ops.square(diff), axis=-1, keepdims=True) + 1e-9)
siamese = keras.Model([ia, ib], dist)
siamese.compile(keras.optimizers.Adam(1e-3), loss=contrastive_loss)

a, b, s = pairs(x_train, y_train, 6000)
va, vb, vs = pairs(x_test, y_test, 1000)
siamese.fit([a, b], s, batch_size=64, epochs=12, validation_data=([va, vb], vs), verbose=2)

d = siamese.predict([va, vb], verbose=0).ravel()
print("mean distance same digit", d[vs == 1].mean(), "different digit", d[vs == 0].mean())
knn = KNeighborsClassifier(5).fit(tower.predict(x_train, verbose=0), y_train)
print("5-NN accuracy in the embedding", knn.score(tower.predict(x_test, verbose=0), y_test))
