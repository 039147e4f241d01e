"""Bayesian personalised ranking (BPR) recommender: positive and sampled negative items, no ratings."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

SEED = 2
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
N_USERS, N_ITEMS, DIM = 400, 500, 8

u_true, i_true = rng.normal(0, 1, (N_USERS, 5)), rng.normal(0, 1, (N_ITEMS, 5))
pop = rng.normal(0, 0.7, N_ITEMS)
p = np.exp(1.5 * u_true @ i_true.T + pop)
p /= p.sum(1, keepdims=True)
liked = np.stack([rng.choice(N_ITEMS, 26, replace=False, p=p[u]) for u in range(N_USERS)])
train_items, test_items = liked[:, :20], liked[:, 20:]
pairs = np.array([(u, i) for u in range(N_USERS) for i in train_items[u]])


class BPR(keras.Model):
    def __init__(self):
        super().__init__()
        self.users = layers.Embedding(N_USERS, DIM, embeddings_initializer=keras.initializers.RandomNormal(stddev=0.1))
        self.items = layers.Embedding(N_ITEMS, DIM, embeddings_initializer=keras.initializers.RandomNormal(stddev=0.1))
        self.bias = layers.Embedding(N_ITEMS, 1, embeddings_initializer="zeros")

    def call(self, t):
        u, i, j = self.users(t[:, 0]), self.items(t[:, 1]), self.items(t[:, 2])
        score = ops.sum(u * (i - j), axis=1, keepdims=True) + self.bias(t[:, 1]) - self.bias(t[:, 2])
        reg = ops.mean(ops.sum(u ** 2 + i ** 2 + j ** 2, axis=1))
        self.add_loss(0.01 * reg)
        return score


def bpr_loss(y_true, diff):
    # the target array is a dummy, only the difference of the two scores counts
    return ops.mean(ops.softplus(-diff))


def hit_rate(model, k=20):
    U, I = model.users.get_weights()[0], model.items.get_weights()[0]
    s = U @ I.T + model.bias.get_weights()[0].T
    np.put_along_axis(s, train_items, -1e9, axis=1)
    top = np.argsort(-s, axis=1)[:, :k]
    return np.mean([len(set(t) & set(h)) / len(h) for t, h in zip(top, test_items)])


model = BPR()
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=bpr_loss)
for epoch in range(40):
    neg = rng.integers(0, N_ITEMS, len(pairs))
    triples = np.column_stack([pairs, neg]).astype("int32")
    h = model.fit(triples, np.zeros((len(triples), 1), "float32"), batch_size=200, epochs=1, verbose=0)
    if epoch % 8 == 0:
        print(f"epoch {epoch} loss {h.history['loss'][0]:.4f} recall@20 {hit_rate(model):.4f}")

popular = np.bincount(train_items.ravel(), minlength=N_ITEMS)
base = np.tile(popular, (N_USERS, 1)).astype(float)
np.put_along_axis(base, train_items, -1, axis=1)
top = np.argsort(-base, axis=1)[:, :20]
pop_hit = np.mean([len(set(t) & set(h)) / len(h) for t, h in zip(top, test_items)])
print(f"final recall@20 {hit_rate(model):.4f}   (most popular {pop_hit:.4f}, random {20 / 480:.4f})")
