"""Siamese network with contrastive loss; y = 1 for pairs of the same class."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


def make_pairs(x, y, n, rng):
    by_class = [np.where(y == c)[0] for c in np.unique(y)]
    a = rng.integers(0, len(x), n)
    same = rng.random(n) < 0.5
    b = np.empty(n, int)
    for i in range(n):
        c = y[a[i]]
        if not same[i]:
            c = rng.choice([k for k in range(len(by_class)) if k != c])
        b[i] = rng.choice(by_class[c])
    return [x[a], x[b]], same.astype("float32")[:, None]


def embedder(dim):
    return keras.Sequential([
        layers.Input((64,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(dim),
    ], name="embedder")


class Distance(layers.Layer):
    def call(self, inputs):
        a, b = inputs
        return ops.sqrt(ops.sum(ops.square(a - b), axis=-1, keepdims=True) + 1e-9)


def contrastive(margin):
    def loss(y_true, d):
        pull = y_true * ops.square(d)
        push = (1.0 - y_true) * ops.square(ops.maximum(margin - d, 0.0))
        return ops.mean(pull + push)
    return loss


def pair_accuracy(y_true, d):
    return ops.mean(ops.cast(ops.equal(y_true, ops.cast(d < 0.5, y_true.dtype)), "float32"))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=16)
    ap.add_argument("--margin", type=float, default=1.0)
    ap.add_argument("--pairs", type=int, default=6000)
    ap.add_argument("--epochs", type=int, default=12)
    args = ap.parse_args()

    keras.utils.set_random_seed(55)
    rng = np.random.default_rng(55)
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype("float32")
    order = rng.permutation(len(x))
    tr, te = order[:1300], order[1300:]
    pairs, same = make_pairs(x[tr], y[tr], args.pairs, rng)
    pairs_v, same_v = make_pairs(x[te], y[te], 1000, rng)

    emb = embedder(args.dim)
    ia, ib = keras.Input((64,)), keras.Input((64,))
    siamese = keras.Model([ia, ib], Distance()([emb(ia), emb(ib)]))
    siamese.compile(keras.optimizers.Adam(1e-3), loss=contrastive(args.margin),
                    metrics=[pair_accuracy])
    siamese.fit(pairs, same, batch_size=64, epochs=args.epochs,
                validation_data=(pairs_v, same_v), verbose=2)

    ref, qry = emb.predict(x[tr], verbose=0), emb.predict(x[te], verbose=0)
    nearest = ((qry[:, None] - ref[None]) ** 2).sum(-1).argmin(1)
    print("1-NN accuracy in embedding space %.4f" % (y[tr][nearest] == y[te]).mean())


if __name__ == "__main__":
    main()
