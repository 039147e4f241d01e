"""Bayesian personalised ranking for implicit feedback."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse

import numpy as np
import keras
from keras import layers, ops


def clicks(n_users, n_items, per_user, rng, k=3):
    pu, qi = rng.normal(size=(n_users, k)), rng.normal(size=(n_items, k))
    score = 1.5 * pu @ qi.T + rng.gumbel(size=(n_users, n_items))
    return np.argsort(-score, axis=1)[:, :per_user]


class Triples(keras.utils.PyDataset):
    """(user, clicked item, item not clicked), negatives drawn anew every time"""

    def __init__(self, seen, n_items, batch, seed):
        super().__init__()
        self.seen = seen
        self.users = np.repeat(np.arange(len(seen)), [len(s) for s in seen])
        self.items = np.concatenate([list(s) for s in seen])
        self.n_items, self.batch = n_items, batch
        self.rng = np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self):
        return int(np.ceil(len(self.users) / self.batch))

    def __getitem__(self, k):
        i = self.order[k * self.batch:(k + 1) * self.batch]
        u, pos = self.users[i], self.items[i]
        neg = self.rng.integers(0, self.n_items, len(i))
        for j in range(len(i)):
            while neg[j] in self.seen[u[j]]:
                neg[j] = self.rng.integers(0, self.n_items)
        return np.stack([u, pos, neg], 1).astype("int32"), np.zeros((len(i), 1), "float32")

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.users))


class BPR(keras.Model):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        init = keras.initializers.RandomNormal(stddev=0.1)
        self.user = layers.Embedding(n_users, dim, embeddings_initializer=init)
        self.item = layers.Embedding(n_items, dim, embeddings_initializer=init)

    def call(self, t):
        u, p, n = self.user(t[:, 0]), self.item(t[:, 1]), self.item(t[:, 2])
        return ops.sum(u * (p - n), axis=-1, keepdims=True)


def bpr_loss(_, diff):
    return ops.mean(ops.softplus(-diff))


def share_ordered(_, diff):
    return ops.mean(ops.cast(diff > 0, "float32"))


def hit_rate(model, seen, held, k=10):
    s = ops.convert_to_numpy(model.user.embeddings) @ ops.convert_to_numpy(model.item.embeddings).T
    hits = []
    for u, items in enumerate(held):
        row = s[u].copy()
        row[list(seen[u])] = -np.inf
        top = np.argpartition(-row, k)[:k]
        hits.append(len(set(top) & set(items)) / len(items))
    return float(np.mean(hits))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--dim", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=15)
    ap.add_argument("--batch", type=int, default=128)
    args = ap.parse_args()
    keras.utils.set_random_seed(30)
    rng = np.random.default_rng(30)
    n_users, n_items = 300, 200
    got = rng.permuted(clicks(n_users, n_items, 30, rng), axis=1)
    seen = [set(r[:24].tolist()) for r in got]
    held = [r[24:].tolist() for r in got]

    model = BPR(n_users, n_items, args.dim)
    model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=bpr_loss, metrics=[share_ordered])
    model.fit(Triples(seen, n_items, args.batch, 30), epochs=args.epochs, verbose=2)
    print("recall@10 %.3f, by chance %.3f" % (hit_rate(model, seen, held), 10 / (n_items - 24)))


if __name__ == "__main__":
    main()
