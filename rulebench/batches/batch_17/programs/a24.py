import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

# graph classification: does the little molecule contain a triangle-rich part (1) or not (0)?
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)
N = 14


def graph(label):
    a = (rng.uniform(size=(N, N)) < 0.16).astype("float32")
    a = np.triu(a, 1)
    if label:
        k = rng.choice(N, 5, replace=False)
        for i in k:
            for j in k:
                if i < j:
                    a[i, j] = 1
    a = a + a.T
    tri = np.diag(a @ a @ a)[:, None] / 6
    feats = np.concatenate([a.sum(1, keepdims=True) / 4, tri / 2, rng.normal(size=(N, 2))], 1)
    a = a + np.eye(N)
    d = 1 / np.sqrt(a.sum(1))
    return a * d[:, None] * d[None, :], feats


y = rng.integers(0, 2, 1200)
graphs = [graph(l) for l in y]
A = np.array([g[0] for g in graphs], "float32")
F = np.array([g[1] for g in graphs], "float32")

a_in, f_in = keras.Input((N, N)), keras.Input((N, 4))
h = layers.Dense(16, activation="relu")(ops.matmul(a_in, f_in))
h = layers.Dense(16, activation="relu")(ops.matmul(a_in, h))
h = layers.GlobalAveragePooling1D()(h)
out = layers.Dense(1, activation="softmax")(h)
model = keras.Model([a_in, f_in], out)
model.compile(keras.optimizers.Adam(5e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit([A[:1000], F[:1000]], y[:1000], epochs=12, batch_size=32,
          validation_data=([A[1000:], F[1000:]], y[1000:]), verbose=2)
print("share of class 1:", y[1000:].mean())
print("test accuracy:", model.evaluate([A[1000:], F[1000:]], y[1000:], verbose=0)[1])
