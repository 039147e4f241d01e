"""Two-tower retrieval on synthetic user/item data with in-batch negatives."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(55)

N_USERS, N_ITEMS, DIM = 600, 200, 8
rng = np.random.default_rng(55)
user_taste = rng.normal(size=(N_USERS, DIM))
item_style = rng.normal(size=(N_ITEMS, DIM))
affinity = user_taste @ item_style.T
prob = np.exp(affinity - affinity.max(1, keepdims=True))
prob /= prob.sum(1, keepdims=True)
users = np.repeat(np.arange(N_USERS), 20)
items = np.array([rng.choice(N_ITEMS, p=prob[u]) for u in users])
# item features are a noisy view of the style; users are known by id only
item_feats = (item_style @ rng.normal(size=(DIM, 20)) + rng.normal(0, 0.3, (N_ITEMS, 20))).astype("float32")
item_feats /= item_feats.std()

perm = rng.permutation(len(users))
cut = int(0.9 * len(perm))
tr, te = perm[:cut], perm[cut:]


class UnitNorm(layers.Layer):
    def call(self, x):
        return x / (ops.norm(x, axis=-1, keepdims=True) + 1e-8)


class TwoTower(keras.Model):
    def __init__(self, dim=16, temperature=0.15):
        super().__init__()
        self.temperature = temperature
        self.user_tower = keras.Sequential([layers.Embedding(N_USERS, dim), layers.Dense(dim), UnitNorm()])
        self.item_tower = keras.Sequential([layers.Dense(32, activation="relu"), layers.Dense(dim), UnitNorm()])

    def call(self, inputs):
        u = self.user_tower(inputs["user"])
        v = self.item_tower(inputs["item"])
        return ops.matmul(u, ops.transpose(v)) / self.temperature


def in_batch_loss(item_ids, scores):
    ids = ops.reshape(item_ids, (-1,))
    same = ops.cast(ops.equal(ids[:, None], ids[None, :]), scores.dtype)
    n = ops.shape(scores)[0]
    scores = scores - 1e9 * (same - ops.eye(n, dtype=scores.dtype))
    return ops.mean(keras.losses.sparse_categorical_crossentropy(ops.arange(n), scores, from_logits=True))


model = TwoTower()
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=in_batch_loss)
model.fit({"user": users[tr], "item": item_feats[items[tr]]}, items[tr], batch_size=128, epochs=5, verbose=2)

u = ops.convert_to_numpy(model.user_tower(np.arange(N_USERS)))
v = ops.convert_to_numpy(model.item_tower(item_feats))
ranks = np.argsort(-(u @ v.T), axis=1)
for k in (5, 10, 20):
    hits = [i in ranks[uu, :k] for uu, i in zip(users[te], items[te])]
    print(f"recall@{k}: {np.mean(hits):.3f}   chance {k / N_ITEMS:.3f}")
