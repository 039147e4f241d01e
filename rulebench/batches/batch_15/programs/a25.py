"""Full-batch GCN on a stochastic block model, few labelled nodes, mask by sample weights."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import argparse

import numpy as np
import keras
from keras import layers, ops


def make_graph(n, k, p_in, p_out, n_feat, rng):
    y = rng.integers(0, k, n)
    prob = np.where(y[:, None] == y[None], p_in, p_out)
    upper = np.triu(rng.random((n, n)) < prob, 1)
    adj = (upper | upper.T).astype("float32")
    centres = rng.normal(size=(k, n_feat))
    x = (0.45 * centres[y] + rng.normal(size=(n, n_feat))).astype("float32")
    return adj, x, y


def normalise(adj):
    a = adj + np.eye(len(adj), dtype="float32")
    d = 1.0 / np.sqrt(a.sum(1))
    return a * d[:, None] * d[None, :]


class GraphConv(layers.Layer):
    def __init__(self, units, a_hat, activation=None, **kw):
        super().__init__(**kw)
        self.lin = layers.Dense(units, use_bias=False)
        self.a_hat = ops.convert_to_tensor(a_hat)
        self.act = keras.activations.get(activation)

    def call(self, h):
        return self.act(ops.matmul(self.a_hat, self.lin(h)))


class GCN(keras.Model):
    def __init__(self, a_hat, hidden, n_classes, dropout):
        super().__init__()
        self.g1 = GraphConv(hidden, a_hat, "relu")
        self.g2 = GraphConv(n_classes, a_hat)
        self.drop = layers.Dropout(dropout)

    def call(self, x, training=False):
        h = self.g1(self.drop(x, training=training))
        return self.g2(self.drop(h, training=training))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nodes", type=int, default=800)
    ap.add_argument("--classes", type=int, default=4)
    ap.add_argument("--labels-per-class", type=int, default=10)
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--epochs", type=int, default=120)
    args = ap.parse_args()

    keras.utils.set_random_seed(40)
    rng = np.random.default_rng(40)
    adj, x, y = make_graph(args.nodes, args.classes, 0.03, 0.006, 24, rng)

    train = np.zeros(args.nodes, "float32")
    for c in range(args.classes):
        train[np.where(y == c)[0][:args.labels_per_class]] = 1
    rest = np.where(train == 0)[0]
    val, test = np.zeros_like(train), np.zeros_like(train)
    val[rest[:150]] = 1
    test[rest[150:]] = 1

    model = GCN(normalise(adj), args.hidden, args.classes, 0.4)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-2, weight_decay=5e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")])
    model.fit(x, y, sample_weight=train, batch_size=args.nodes, shuffle=False,
              epochs=args.epochs, validation_data=(x, y, val),
              validation_batch_size=args.nodes, verbose=2)
    res = model.evaluate(x, y, sample_weight=test, batch_size=args.nodes,
                         verbose=0, return_dict=True)
    print("test accuracy %.4f" % res["acc"])


if __name__ == "__main__":
    main()
