import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers, ops

# BPR, implicit feedback


class BPR(keras.Model):
    def __init__(self, nu, ni, k):
        super().__init__()
        init = keras.initializers.RandomNormal(stddev=0.1)
        self.u = layers.Embedding(nu, k, embeddings_initializer=init)
        self.i = layers.Embedding(ni, k, embeddings_initializer=init)
        self.b = layers.Embedding(ni, 1, embeddings_initializer="zeros")

    def score(self, u, i):
        return ops.sum(self.u(u) * self.i(i), -1, keepdims=True) + self.b(i)

    def call(self, trip):
        u, i, j = trip[:, 0], trip[:, 1], trip[:, 2]
        return self.score(u, i) - self.score(u, j)


def bpr_loss(ones, diff):
    return ops.mean(ops.softplus(-diff))


def world(nu=200, ni=150, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(nu, 3)) @ rng.normal(size=(3, ni)) + rng.normal(0, 0.5, ni)
    rank = np.argsort(-(s + 0.5 * rng.gumbel(size=s.shape)), 1)
    return rank[:, :20]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--dim", type=int, default=8)
    a = ap.parse_args()
    keras.utils.set_random_seed(0)
    liked = world()
    rng = np.random.default_rng(1)
    perm = rng.permuted(liked, axis=1)
    train, test = perm[:, :15], perm[:, 15:]
    nu, ni = len(liked), 150
    trips = []
    for u in range(nu):
        neg_pool = np.setdiff1d(np.arange(ni), train[u])
        for i in train[u]:
            for j in rng.choice(neg_pool, 5):
                trips.append((u, i, j))
    trips = np.array(trips, "int32")
    m = BPR(nu, ni, a.dim)
    m.compile(optimizer=keras.optimizers.Adam(1e-2), loss=bpr_loss)
    m.fit(trips, np.ones((len(trips), 1)), epochs=a.epochs, batch_size=256, verbose=2, shuffle=True)
    U, I, b = (np.array(v) for v in (m.u.embeddings, m.i.embeddings, m.b.embeddings))
    s = U @ I.T + b.T
    for u in range(nu):
        s[u, train[u]] = -np.inf
    top = np.argsort(-s, 1)[:, :10]
    rec = np.mean([len(np.intersect1d(top[u], test[u])) / 5 for u in range(nu)])
    print("recall@10", rec, "random", 10 / 135)


if __name__ == "__main__":
    main()
