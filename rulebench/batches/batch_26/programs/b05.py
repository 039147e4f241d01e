import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

# Implicit feedback recommender, trained with BPR on (user, bought, not bought) triples.
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
N_USERS, N_ITEMS, K = 300, 200, 6

P = rng.normal(size=(N_USERS, K))
Q = rng.normal(size=(N_ITEMS, K))
score = P @ Q.T + rng.gumbel(size=(N_USERS, N_ITEMS))
bought = np.argsort(-score, axis=1)[:, :25]
test_item = np.array([rng.choice(b) for b in bought])
train_sets = [set(b) - {t} for b, t in zip(bought, test_item)]
pairs = np.array([(u, i) for u in range(N_USERS) for i in train_sets[u]])


class Triples(keras.utils.PyDataset):
    def __len__(self):
        return len(pairs) // 256

    def __getitem__(self, _):
        rows = pairs[rng.integers(0, len(pairs), 256)]
        neg = rng.integers(0, N_ITEMS, 256)
        clash = np.array([n in train_sets[u] for u, n in zip(rows[:, 0], neg)])
        while clash.any():
            neg[clash] = rng.integers(0, N_ITEMS, clash.sum())
            clash = np.array([n in train_sets[u] for u, n in zip(rows[:, 0], neg)])
        # keras wants a target; the loss only uses the score difference
        return (rows[:, 0], rows[:, 1], neg), np.zeros((256, 1), "float32")


user_emb = layers.Embedding(N_USERS, 16, name="user", embeddings_regularizer=None)
item_emb = layers.Embedding(N_ITEMS, 16, name="item")
item_bias = layers.Embedding(N_ITEMS, 1, embeddings_initializer="zeros")
u_in, p_in, n_in = (keras.Input((), dtype="int32") for _ in range(3))
u = user_emb(u_in)


def affinity(i):
    return layers.Dot(axes=1)([u, item_emb(i)]) + item_bias(i)


diff = affinity(p_in) - affinity(n_in)
model = keras.Model([u_in, p_in, n_in], diff)
model.compile(keras.optimizers.Adam(3e-3, weight_decay=1e-3), loss=lambda _, d: ops.mean(ops.softplus(-d)))


def hit_rate(k=10):
    U, V, b = user_emb.get_weights()[0], item_emb.get_weights()[0], item_bias.get_weights()[0][:, 0]
    s = U @ V.T + b
    for i, seen in enumerate(train_sets):
        s[i, list(seen)] = -np.inf
    top = np.argsort(-s, 1)[:, :k]
    return float((top == test_item[:, None]).any(1).mean())


data = Triples()
print("before training: hit rate@10", hit_rate())
for r in range(6):
    h = model.fit(data, epochs=8, verbose=0)
    print("loss", [round(v, 4) for v in h.history["loss"]][-1], "hit rate@10", round(hit_rate(), 3))
print("leave-one-out hit rate@10: %.3f (chance %.3f)" % (hit_rate(), 10 / (N_ITEMS - 24)))
