"""Two-layer GCN on a stochastic block graph, transductive with 10 labels per class."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import numpy as np
import keras
from keras import layers, ops


def block_graph(n, k, rng, p_in=0.06, p_out=0.008):
    y = rng.integers(0, k, n)
    prob = np.where(y[:, None] == y[None], p_in, p_out)
    a = np.triu(rng.random((n, n)) < prob, 1)
    a = (a | a.T).astype("float32")
    x = rng.normal(0, 1, (n, 12)).astype("float32")
    x[np.arange(n), y] += 0.8
    return a, x, y


def normalised(a):
    a = a + np.eye(len(a), dtype="float32")
    d = 1.0 / np.sqrt(a.sum(1))
    return (a * d[:, None] * d[None]).astype("float32")


class GraphConv(layers.Layer):
    def __init__(self, units, a_hat, activation=None):
        super().__init__()
        self.dense = layers.Dense(units)
        self.a_hat = ops.convert_to_tensor(a_hat)
        self.activation = keras.activations.get(activation)

    def call(self, x):
        return self.activation(ops.matmul(self.a_hat, self.dense(x)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--nodes", type=int, default=400)
    ap.add_argument("--classes", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=120)
    args = ap.parse_args()
    keras.utils.set_random_seed(4)
    rng = np.random.default_rng(4)
    a, x, y = block_graph(args.nodes, args.classes, rng)
    a_hat = normalised(a)

    train = np.zeros(args.nodes, dtype="float32")
    for c in range(args.classes):
        train[rng.choice(np.flatnonzero(y == c), 10, replace=False)] = 1.0
    test = 1.0 - train

    model = keras.Sequential([
        keras.Input((12,), batch_size=args.nodes),
        GraphConv(16, a_hat, "relu"),
        layers.Dropout(0.5),
        GraphConv(args.classes, a_hat),
    ])
    model.compile(optimizer=keras.optimizers.Adam(1e-2),
                  loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  weighted_metrics=["accuracy"])
    model.fit(x, y, sample_weight=train, batch_size=args.nodes, shuffle=False, epochs=args.epochs,
              validation_data=(x, y, test), validation_batch_size=args.nodes, verbose=2)
    pred = model.predict(x, batch_size=args.nodes, verbose=0).argmax(1)
    print("accuracy on unlabelled nodes %.3f" % np.mean(pred[test == 1] == y[test == 1]))


if __name__ == "__main__":
    main()
