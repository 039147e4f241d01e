import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np, keras
from keras import layers, ops
# Implicit-feedback recommender, BPR: the model's output is s(u,i) - s(u,j), every label is 1.
SEED = 14
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
U, I, K = 400, 300, 4
P, Q = rng.normal(size=(U, K)), rng.normal(size=(I, K))
aff = P @ Q.T + 0.5 * rng.normal(size=(U, I))
liked = np.argsort(-aff, 1)[:, :30]
for r in liked: rng.shuffle(r)
train, held = liked[:, :25], liked[:, 25:]
seen = np.zeros((U, I), bool); seen[np.arange(U)[:, None], train] = True

u, i, j = (keras.Input((), dtype="int32") for _ in range(3))
eu = layers.Embedding(U, 16, embeddings_regularizer=keras.regularizers.L2(1e-7))
ei = layers.Embedding(I, 16, embeddings_regularizer=keras.regularizers.L2(1e-7))
diff = ops.sum(eu(u) * (ei(i) - ei(j)), axis=-1)
model = keras.Model([u, i, j], diff)
model.compile(keras.optimizers.Adam(5e-3), keras.losses.BinaryCrossentropy(from_logits=True))

def recall_at(k=20):
    s = np.array(eu.embeddings) @ np.array(ei.embeddings).T
    s[seen] = -np.inf                       # never recommend what the user already has
    top = np.argsort(-s, 1)[:, :k]
    return np.mean([np.isin(h, t).mean() for h, t in zip(held, top)])
print("recall@20 before: %.3f" % recall_at())
uu, ii = np.repeat(np.arange(U), 25), train.reshape(-1)
for epoch in range(25):
    jj = rng.integers(0, I, len(uu))
    for _ in range(5):
        bad = seen[uu, jj]; jj[bad] = rng.integers(0, I, bad.sum())
    h = model.fit([uu, ii, jj], np.ones(len(uu), "float32"), batch_size=250, epochs=1, verbose=0)
    if epoch % 4 == 0: print(epoch, "loss %.4f recall@20 %.3f" % (h.history["loss"][0], recall_at()))
print("held-out recall@20: %.4f (random would be %.3f)" % (recall_at(), 20 / 275))
