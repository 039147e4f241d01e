"""Recommender with pairwise ranking (BPR) on implicit feedback.  Keras 3."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
from keras import layers, ops, regularizers

SEED = 8
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
N_USERS, N_ITEMS, DIM = 400, 250, 12

# ground truth taste
pu, qi = rng.normal(size=(N_USERS, 5)), rng.normal(size=(N_ITEMS, 5))
util = pu @ qi.T + 0.7 * rng.normal(size=N_ITEMS) + rng.gumbel(size=(N_USERS, N_ITEMS))
liked = np.argsort(-util, axis=1)[:, :25]
seen = np.zeros((N_USERS, N_ITEMS), bool)
train_pairs, held = [], []
for u in range(N_USERS):
    items = rng.permutation(liked[u])
    held.append(items[:5])
    train_pairs += [(u, i) for i in items[5:]]
    seen[u, items[5:]] = True
train_pairs = np.array(train_pairs)

user_in, pos_in, neg_in = (keras.Input((), dtype="int32", name=n) for n in ("user", "pos", "neg"))
reg = regularizers.L2(1e-6)
U = layers.Embedding(N_USERS, DIM, embeddings_regularizer=reg, name="U")
I = layers.Embedding(N_ITEMS, DIM, embeddings_regularizer=reg, name="I")
B = layers.Embedding(N_ITEMS, 1, embeddings_initializer="zeros", name="B")
dot = layers.Dot(axes=-1)
flat = layers.Reshape((1,))
s_pos = layers.Add()([dot([U(user_in), I(pos_in)]), flat(B(pos_in))])
s_neg = layers.Add()([dot([U(user_in), I(neg_in)]), flat(B(neg_in))])
bpr = layers.Lambda(lambda s: ops.softplus(s[1] - s[0]))([s_pos, s_neg])
model = keras.Model([user_in, pos_in, neg_in], bpr)
model.compile(optimizer=keras.optimizers.Adam(2e-2), loss=lambda y_true, y_pred: ops.mean(y_pred))

dummy = np.zeros(len(train_pairs), "float32")
for epoch in range(25):
    neg = rng.integers(0, N_ITEMS, len(train_pairs))
    clash = seen[train_pairs[:, 0], neg]
    while clash.any():
        neg[clash] = rng.integers(0, N_ITEMS, clash.sum())
        clash = seen[train_pairs[:, 0], neg]
    h = model.fit([train_pairs[:, 0], train_pairs[:, 1], neg], dummy, batch_size=256, epochs=1, verbose=0)
    if epoch % 4 == 0:
        print("epoch", epoch, "bpr loss %.4f" % h.history["loss"][0])

score = U.get_weights()[0] @ I.get_weights()[0].T + B.get_weights()[0].ravel()
score[seen] = -np.inf
top = np.argsort(-score, axis=1)[:, :20]
recall = np.mean([len(set(top[u]) & set(held[u])) / 5 for u in range(N_USERS)])
pop = np.where(seen, -1, seen.sum(0)[None, :])
top_pop = np.argsort(-pop, axis=1)[:, :20]
recall_pop = np.mean([len(set(top_pop[u]) & set(held[u])) / 5 for u in range(N_USERS)])
print("recall@20: model %.3f   popularity %.3f   chance %.3f" % (recall, recall_pop, 20 / 230))
