import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

# Siamese network with contrastive loss: do two digits show the same class?
keras.utils.set_random_seed(13)
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
X = (X / 16).astype("float32")
rng = np.random.default_rng(5)
order = rng.permutation(len(X)); X, y = X[order], y[order]

def pairs(lo, hi, n):
    i = rng.integers(lo, hi, n)
    same = rng.random(n) < 0.5
    pool = [np.where(y[lo:hi] == c)[0] + lo for c in range(10)]
    j = np.array([rng.choice(pool[y[k]] if s else pool[(y[k] + rng.integers(1, 10)) % 10]) for k, s in zip(i, same)])
    return X[i], X[j], same.astype("float32")

a, b, t = pairs(0, 1300, 6000)
av, bv, tv = pairs(1300, len(X), 2000)

EPOCHS, BATCH = 12, 64
enc = keras.Sequential([keras.Input((64,)), layers.Dense(96, activation="relu"), layers.Dense(32)])
ia, ib = keras.Input((64,)), keras.Input((64,))
dist = layers.Lambda(lambda z: ops.sqrt(ops.sum((z[0] - z[1]) ** 2, axis=1, keepdims=True) + 1e-8))([enc(ia), enc(ib)])
net = keras.Model([ia, ib], dist)

def contrastive(y_true, d):
    y_true = ops.reshape(y_true, (-1, 1))
    return ops.mean(y_true * d ** 2 + (1 - y_true) * ops.maximum(2.0 - d, 0.0) ** 2)

lr = keras.optimizers.schedules.CosineDecay(1e-3, decay_steps=EPOCHS, alpha=1e-3)
net.compile(keras.optimizers.Adam(lr), loss=contrastive)
net.fit([a, b], t, batch_size=BATCH, epochs=EPOCHS, validation_data=([av, bv], tv), verbose=2)
d = net.predict([av, bv], verbose=0)[:, 0]
print("verification accuracy at distance 1: %.4f" % ((d < 1.0) == (tv > 0.5)).mean())
