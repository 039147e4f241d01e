"""BPR matrix factorisation on implicit feedback."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import numpy as np
import keras
from keras import layers, ops


def make_clicks(n_users, n_items, rng):
    taste, style = rng.normal(size=(n_users, 4)), rng.normal(size=(n_items, 4))
    pop = rng.normal(0, 0.7, n_items)
    logits = taste @ style.T + pop - 2.0
    return rng.random((n_users, n_items)) < 1 / (1 + np.exp(-logits))


def split_last(clicks, rng):
    train, held = clicks.copy(), np.full(len(clicks), -1)
    for u, row in enumerate(clicks):
        items = np.flatnonzero(row)
        if len(items) > 4:
            held[u] = rng.choice(items)
            train[u, held[u]] = False
    return train, held


def triples(train, n, rng):
    us, pos = np.nonzero(train)
    k = rng.integers(0, len(us), n)
    neg = rng.integers(0, train.shape[1], n)
    bad = train[us[k], neg]
    while bad.any():
        neg[bad] = rng.integers(0, train.shape[1], bad.sum())
        bad = train[us[k], neg]
    return np.stack([us[k], pos[k], neg], 1).astype("int32")


class BPR(keras.Model):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        init = keras.initializers.RandomNormal(stddev=0.1)
        self.user = layers.Embedding(n_users, dim, embeddings_initializer=init)
        self.item = layers.Embedding(n_items, dim, embeddings_initializer=init)
        self.bias = layers.Embedding(n_items, 1, embeddings_initializer="zeros")

    def score(self, u, i):
        return ops.sum(self.user(u) * self.item(i), axis=-1) + self.bias(i)[..., 0]

    def call(self, t):
        return self.score(t[:, 0], t[:, 1]) - self.score(t[:, 0], t[:, 2])


def bpr_loss(_, margin):
    return ops.softplus(-margin)


def pair_accuracy(_, margin):
    return ops.cast(margin > 0, "float32")


def hit_rate(model, train, held, k=10):
    U, I, b = (np.asarray(l.embeddings) for l in (model.user, model.item, model.bias))
    s = U @ I.T + b[:, 0]
    s[train] = -np.inf
    hits = [held[u] in np.argpartition(-s[u], k)[:k] for u in range(len(s)) if held[u] >= 0]
    return np.mean(hits)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--dim", type=int, default=8)
    args = ap.parse_args()
    keras.utils.set_random_seed(2)
    rng = np.random.default_rng(2)
    clicks = make_clicks(300, 120, rng)
    train, held = split_last(clicks, rng)

    model = BPR(300, 120, args.dim)
    model.compile(optimizer=keras.optimizers.Adam(1e-2, weight_decay=1e-3), loss=bpr_loss, metrics=[pair_accuracy])
    for epoch in range(args.epochs):
        t = triples(train, 6000, rng)
        h = model.fit(t, np.ones(len(t), dtype="float32"), batch_size=256, verbose=0)
        print(f"epoch {epoch}: loss {h.history['loss'][0]:.4f} pairs {h.history['pair_accuracy'][0]:.3f} "
              f"hit@10 {hit_rate(model, train, held):.3f}")


if __name__ == "__main__":
    main()
