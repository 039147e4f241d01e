import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

# siamese network with contrastive loss
keras.utils.set_random_seed(113)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
perm = np.random.permutation(len(X))
X, y = X[perm], y[perm]


def pairs(X, y, n):
    by = [np.where(y == c)[0] for c in range(10)]
    a = np.random.randint(0, len(X), n)
    same = np.random.rand(n) < 0.5
    b = np.array([np.random.choice(by[y[i]]) if s else
                  np.random.choice(by[(y[i] + np.random.randint(1, 10)) % 10]) for i, s in zip(a, same)])
    return X[a], X[b], same.astype("float32")


a_tr, b_tr, s_tr = pairs(X[:1300], y[:1300], 4000)
a_te, b_te, s_te = pairs(X[1300:], y[1300:], 1000)

tower = keras.Sequential([keras.Input((64,)), layers.Dense(64, activation="relu"), layers.Dense(16)])
ia, ib = keras.Input((64,)), keras.Input((64,))
dist = layers.Lambda(lambda t: ops.sqrt(ops.sum(ops.square(t[0] - t[1]), axis=1, keepdims=True) + 1e-7),
                     output_shape=(1,))([tower(ia), tower(ib)])
model = keras.Model([ia, ib], dist)


def contrastive(y_true, d):
    y_true = ops.reshape(y_true, (-1, 1))
    return ops.mean(y_true * ops.square(d) + (1 - y_true) * ops.square(ops.maximum(1.0 - d, 0.0)))


model.compile(keras.optimizers.Adam(1e-3), loss=contrastive)
model.fit([a_tr, b_tr], s_tr, epochs=15, batch_size=64, validation_data=([a_te, b_te], s_te), verbose=2)
d = model.predict([a_te, b_te], verbose=0)[:, 0]
print("pair accuracy", ((d < 0.5) == (s_te > 0.5)).mean())
