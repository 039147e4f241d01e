"""Node classification with a two-layer graph convolution network."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import numpy as np
import keras
from keras import layers, ops


def block_graph(n_per, k, p_in, p_out, n_feat, rng):
    """Communities stored one after another; features only hint at the community."""
    y = np.repeat(np.arange(k), n_per)
    n = len(y)
    p = np.where(y[:, None] == y[None], p_in, p_out)
    upper = np.triu(rng.random((n, n)) < p, 1)
    adj = (upper | upper.T).astype("float32")
    centres = rng.normal(0, 0.45, (k, n_feat))
    x = (centres[y] + rng.normal(0, 1.0, (n, n_feat))).astype("float32")
    return adj, x, y


def reorder(adj, x, y, rng):
    """Put the nodes in random order so that index ranges can serve as splits."""
    perm = rng.permutation(len(y))
    return adj[perm], x[perm], y[perm]


def normalise(adj):
    a = adj + np.eye(len(adj), dtype="float32")
    d = 1.0 / np.sqrt(a.sum(1))
    return d[:, None] * a * d[None, :]


@keras.saving.register_keras_serializable()
class GraphConv(layers.Layer):
    def __init__(self, a_hat, units, activation=None, **kw):
        super().__init__(**kw)
        self.a_hat = ops.convert_to_tensor(a_hat)
        self.dense = layers.Dense(units)
        self.act = keras.activations.get(activation)

    def build(self, shape):
        self.dense.build(shape)

    def call(self, x):
        return self.act(ops.matmul(self.a_hat, self.dense(x)))


class GCN(keras.Model):
    def __init__(self, a_hat, hidden, n_classes, dropout):
        super().__init__()
        self.g1 = GraphConv(a_hat, hidden, "relu")
        self.drop = layers.Dropout(dropout)
        self.g2 = GraphConv(a_hat, n_classes)

    def call(self, x, training=False):
        return self.g2(self.drop(self.g1(x), training=training))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=150)
    ap.add_argument("--hidden", type=int, default=16)
    ap.add_argument("--dropout", type=float, default=0.4)
    ap.add_argument("--lr", type=float, default=1e-2)
    args = ap.parse_args()
    keras.utils.set_random_seed(9)
    rng = np.random.default_rng(9)

    adj, x, y = block_graph(150, 4, 0.06, 0.008, 16, rng)
    adj, x, y = reorder(adj, x, y, rng)
    a_hat = normalise(adj)
    n = len(y)
    train = np.zeros(n, "float32")
    train[:120] = 1.0
    test = np.arange(n) >= 300

    model = GCN(a_hat, args.hidden, 4, args.dropout)
    model.compile(optimizer=keras.optimizers.AdamW(args.lr, weight_decay=5e-4),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  weighted_metrics=["accuracy"])
    # full batch: every step sees the whole graph, the loss counts the training nodes
    hist = model.fit(x, y, sample_weight=train, batch_size=n, shuffle=False,
                     epochs=args.epochs, verbose=0)
    for e in range(0, args.epochs, 25):
        print(f"epoch {e:3d}  loss {hist.history['loss'][e]:.4f}  acc {hist.history['accuracy'][e]:.3f}")

    pred = np.asarray(model.predict(x, batch_size=n, verbose=0)).argmax(1)
    print("train accuracy %.3f" % (pred == y)[train > 0].mean())
    print("test accuracy  %.3f" % (pred == y)[test].mean())


if __name__ == "__main__":
    main()
