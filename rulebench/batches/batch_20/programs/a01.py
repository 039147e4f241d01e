"""Node classification with a two-layer GCN on a synthetic community graph."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

N, CLASSES, FEATS = 240, 4, 24
y = rng.integers(0, CLASSES, N)
same = y[:, None] == y[None, :]
A = (rng.random((N, N)) < np.where(same, 0.12, 0.015)).astype("float32")
A = np.triu(A, 1)
A = A + A.T
centers = rng.normal(size=(CLASSES, FEATS)) * 0.5
X = (centers[y] + rng.normal(size=(N, FEATS))).astype("float32")

A_hat = A + np.eye(N, dtype="float32")
d = 1.0 / np.sqrt(A_hat.sum(1))
A_norm = ops.convert_to_tensor(d[:, None] * A_hat * d[None, :])

perm = rng.permutation(N)
train_idx, val_idx, test_idx = perm[:60], perm[60:120], perm[120:]


def as_weight(idx):
    w = np.zeros(N, dtype="float32")
    w[idx] = 1.0
    return w


class GCNLayer(layers.Layer):
    def __init__(self, units, activation=None):
        super().__init__()
        self.lin = layers.Dense(units)
        self.act = keras.activations.get(activation)

    def call(self, h):
        return self.act(ops.matmul(A_norm, self.lin(h)))


inp = keras.Input(batch_shape=(N, FEATS))
h = GCNLayer(16, "relu")(inp)
h = layers.Dropout(0.4)(h)
out = GCNLayer(CLASSES)(h)
model = keras.Model(inp, out)
model.compile(
    optimizer=keras.optimizers.Adam(1e-2),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    weighted_metrics=["accuracy"],
)

# one batch holds the whole graph; the weights select the labelled nodes
history = model.fit(
    X, y,
    sample_weight=as_weight(train_idx),
    validation_data=(X, y, as_weight(val_idx)),
    batch_size=N, epochs=120, shuffle=False, verbose=0,
)
for e in range(9, 120, 10):
    print(f"epoch {e + 1:3d} " + " ".join(f"{k} {v[e]:.4f}" for k, v in history.history.items()))

pred = model.predict(X, batch_size=N, verbose=0).argmax(1)
print("test accuracy %.4f" % (pred[test_idx] == y[test_idx]).mean())
