"""Contrastive pre-training (NT-Xent) on digits, then a linear probe."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression


def augment(x, rng):
    """shift by up to one pixel, noise, a random blank patch"""
    out = np.empty_like(x)
    for k, im in enumerate(x):
        im = np.roll(im, rng.integers(-1, 2, 2), axis=(0, 1))
        im = im * rng.uniform(0.7, 1.2) + rng.normal(0, 0.08, im.shape)
        r, c = rng.integers(0, 7, 2)
        im[r:r + 2, c:c + 2] = 0
        out[k] = im
    return out


class Pairs(keras.utils.PyDataset):
    def __init__(self, x, batch, seed):
        super().__init__()
        self.x, self.batch = x, batch
        self.rng = np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self):
        return len(self.x) // self.batch

    def __getitem__(self, k):
        b = self.x[self.order[k * self.batch:(k + 1) * self.batch]]
        v = np.stack([augment(b, self.rng), augment(b, self.rng)], axis=1)
        return v.astype("float32"), np.arange(self.batch)

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.x))


class Contrast(keras.Model):
    def __init__(self, encoder, dim, tau):
        super().__init__()
        self.encoder = encoder
        self.head = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(dim)])
        self.tau = tau

    def project(self, x, training):
        z = self.head(self.encoder(x, training=training), training=training)
        return z / (ops.norm(z, axis=-1, keepdims=True) + 1e-8)

    def call(self, views, training=False):
        a = self.project(views[:, 0, ..., None], training)
        b = self.project(views[:, 1, ..., None], training)
        return ops.matmul(a, ops.transpose(b)) / self.tau


def both_ways(labels, sims):
    ce = keras.losses.sparse_categorical_crossentropy
    return 0.5 * (ce(labels, sims, from_logits=True)
                  + ce(labels, ops.transpose(sims), from_logits=True))


def make_encoder():
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(24, 3, padding="same", activation="relu"),
        layers.Conv2D(48, 3, strides=2, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
    ])


def probe(encoder, x, y):
    f = np.asarray(encoder.predict(x[..., None], verbose=0))
    # thirty labelled pictures only
    idx = np.concatenate([np.flatnonzero(y[:1200] == c)[:3] for c in range(10)])
    return LogisticRegression(max_iter=3000).fit(f[idx], y[idx]).score(f[1200:], y[1200:])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--batch", type=int, default=100)
    ap.add_argument("--tau", type=float, default=0.2)
    args = ap.parse_args()
    keras.utils.set_random_seed(20)
    d = load_digits()
    x, y = (d.images / 16.0).astype("float32"), d.target

    encoder = make_encoder()
    print("probe, untrained encoder %.3f" % probe(encoder, x, y))
    model = Contrast(encoder, 32, args.tau)
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss=both_ways, metrics=["accuracy"])
    model.fit(Pairs(x[:1200], args.batch, 20), epochs=args.epochs, verbose=2)
    print("probe, after pre-training %.3f" % probe(encoder, x, y))


if __name__ == "__main__":
    main()
