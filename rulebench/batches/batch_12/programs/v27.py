import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


class Distance(layers.Layer):
    def call(self, inputs):
        a, b = inputs
        return ops.sqrt(ops.sum(ops.square(a - b), axis=1, keepdims=True) + 1e-9)


def contrastive_loss(margin):
    def loss(y_true, d):
        y_true = ops.cast(y_true, d.dtype)
        return ops.mean((1.0 - y_true) * ops.square(d) + y_true * ops.square(ops.maximum(margin - d, 0.0)))
    return loss


def make_pairs(x, y, n, rng):
    """returns two image arrays and 1 for pairs of the same digit, 0 otherwise"""
    left, right, same = [], [], []
    by_class = [np.where(y == c)[0] for c in range(10)]
    for k in range(n):
        c = rng.integers(10)
        i = rng.choice(by_class[c])
        if k % 2 == 0:
            j = rng.choice(by_class[c])
        else:
            j = rng.choice(by_class[(c + rng.integers(1, 10)) % 10])
        left.append(x[i]); right.append(x[j]); same.append(float(y[i] == y[j]))
    return np.array(left), np.array(right), np.array(same, "float32")[:, None]


def build_encoder(dim):
    return keras.Sequential([layers.Input((64,)), layers.Dense(64, activation="relu"),
                             layers.Dense(32, activation="relu"), layers.Dense(dim)])


def knn_accuracy(enc, xtr, ytr, xte, yte):
    a, b = enc.predict(xtr, verbose=0), enc.predict(xte, verbose=0)
    d = ((b[:, None] - a[None]) ** 2).sum(-1)
    nn = np.argsort(d, 1)[:, :5]
    votes = np.array([np.bincount(v, minlength=10).argmax() for v in ytr[nn]])
    return (votes == yte).mean()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--margin", type=float, default=1.0)
    p.add_argument("--epochs", type=int, default=12)
    args = p.parse_args()
    keras.utils.set_random_seed(2)
    rng = np.random.default_rng(2)
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype("float32")
    xtr, ytr, xte, yte = x[:1300], y[:1300], x[1300:], y[1300:]
    enc = build_encoder(8)
    a, b = layers.Input((64,)), layers.Input((64,))
    model = keras.Model([a, b], Distance()([enc(a), enc(b)]))
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=contrastive_loss(args.margin))
    l, r, s = make_pairs(xtr, ytr, 3000, rng)
    model.fit([l, r], s, batch_size=64, epochs=args.epochs, verbose=2)
    l, r, s = make_pairs(xte, yte, 1000, rng)
    d = model.predict([l, r], verbose=0)
    print("mean distance same", d[s == 1].mean(), "different", d[s == 0].mean())
    print("5-nn accuracy in embedding", knn_accuracy(enc, xtr, ytr, xte, yte))


if __name__ == "__main__":
    main()
