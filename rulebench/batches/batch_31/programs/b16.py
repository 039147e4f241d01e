"""Implicit-feedback recommendation with BPR in Keras.

The network itself outputs the pairwise loss, so the "labels" handed to fit() are zeros that nobody looks at.
The negative items are drawn anew for every epoch."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

SEED = 21
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
N_USERS, N_ITEMS, K = 300, 200, 6

U = rng.normal(size=(N_USERS, K))
I = rng.normal(size=(N_ITEMS, K))
score = U @ I.T / np.sqrt(K) + 0.5 * rng.normal(size=N_ITEMS) + rng.gumbel(size=(N_USERS, N_ITEMS)) * 0.4
top = np.argsort(-score, axis=1)[:, :25]
train, test = [], {}
for u in range(N_USERS):
    items = rng.permutation(top[u])
    test[u] = items[:5]
    train += [(u, i) for i in items[5:]]
train = np.array(train)
seen = np.zeros((N_USERS, N_ITEMS), bool)
seen[train[:, 0], train[:, 1]] = True
print(len(train), "interactions")

user_in = keras.Input((), dtype="int32", name="user")
pos_in = keras.Input((), dtype="int32", name="pos")
neg_in = keras.Input((), dtype="int32", name="neg")
init = keras.initializers.RandomNormal(stddev=0.05)
user_emb = layers.Embedding(N_USERS, 16, embeddings_initializer=init)
item_emb = layers.Embedding(N_ITEMS, 16, embeddings_initializer=init)
item_bias = layers.Embedding(N_ITEMS, 1, embeddings_initializer="zeros")
u = user_emb(user_in)


def rate(item):
    return ops.sum(u * item_emb(item), axis=-1, keepdims=True) + item_bias(item)


diff = rate(pos_in) - rate(neg_in)
pair_loss = layers.Lambda(lambda d: ops.softplus(-d))(diff)
model = keras.Model([user_in, pos_in, neg_in], pair_loss)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss=lambda y_true, y_pred: ops.mean(y_pred))


def recall_at_10():
    uw, iw, b = user_emb.get_weights()[0], item_emb.get_weights()[0], item_bias.get_weights()[0][:, 0]
    s = uw @ iw.T + b
    s[seen] = -np.inf
    rec = np.argsort(-s, 1)[:, :10]
    return np.mean([len(set(rec[k]) & set(test[k])) / 5 for k in range(N_USERS)])


print("recall@10 before training %.3f" % recall_at_10())
zeros = np.zeros((len(train), 1), "float32")
for epoch in range(24):
    neg = rng.integers(0, N_ITEMS, len(train))
    bad = seen[train[:, 0], neg]
    neg[bad] = rng.integers(0, N_ITEMS, bad.sum())
    h = model.fit([train[:, 0], train[:, 1], neg], zeros, batch_size=128, epochs=1, verbose=0)
    if epoch % 4 == 3:
        print(f"epoch {epoch+1} bpr loss {h.history['loss'][0]:.4f} recall@10 {recall_at_10():.3f}")
print("recall@10 on held-out interactions: %.4f (random is %.3f)" % (recall_at_10(), 10 / 180))
