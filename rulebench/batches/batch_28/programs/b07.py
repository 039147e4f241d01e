import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers, ops

# Implicit-feedback recommender: Bayesian personalised ranking (Rendle 2009)
SEED = 5
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(5)
N_USERS, N_ITEMS, DIM = 300, 200, 6
tu, ti = rng.normal(size=(N_USERS, DIM)), rng.normal(size=(N_ITEMS, DIM))
aff = tu @ ti.T + 0.5 * rng.normal(size=(1, N_ITEMS))
train_pos, test_pos = [], {}
for u in range(N_USERS):
    liked = np.argsort(-aff[u] + 0.8 * rng.normal(size=N_ITEMS))[:25]
    rng.shuffle(liked)
    test_pos[u] = liked[0]
    train_pos += [(u, i) for i in liked[1:]]
train_pos = np.array(train_pos)
seen = [set() for _ in range(N_USERS)]
for u, i in train_pos:
    seen[u].add(i)

u_in, p_in, n_in = (keras.Input((), dtype="int32", name=n) for n in ("user", "pos", "neg"))
U = layers.Embedding(N_USERS, 16, embeddings_initializer=keras.initializers.RandomNormal(stddev=0.05))
I = layers.Embedding(N_ITEMS, 16, embeddings_initializer=keras.initializers.RandomNormal(stddev=0.05))
B = layers.Embedding(N_ITEMS, 1, embeddings_initializer="zeros")


def score(u, i):
    s = layers.Dot(axes=-1)([U(u), I(i)])
    return layers.Add()([s, B(i)])


diff = layers.Subtract()([score(u_in, p_in), score(u_in, n_in)])
model = keras.Model([u_in, p_in, n_in], diff)


def bpr(y_true, y_pred):
    return ops.mean(ops.softplus(-y_pred))


model.compile(keras.optimizers.Adam(0.005), loss=bpr)


def leave_one_out(k=10):
    s = U.get_weights()[0] @ I.get_weights()[0].T + B.get_weights()[0][:, 0]
    hits = 0
    for u in range(N_USERS):
        row = s[u].copy()
        row[list(seen[u])] = -np.inf
        hits += test_pos[u] in np.argsort(-row)[:k]
    return hits / N_USERS


print("hit@10 untrained", leave_one_out())
for epoch in range(25):
    neg = rng.integers(N_ITEMS, size=len(train_pos))
    # negatives may once in a while be a liked item, we do not care
    x = {"user": train_pos[:, 0], "pos": train_pos[:, 1], "neg": neg}
    h = model.fit(x, np.zeros(len(neg)), batch_size=256, epochs=1, verbose=0)
    if epoch % 4 == 0:
        print(f"epoch {epoch} bpr {h.history['loss'][0]:.4f} hit@10 {leave_one_out():.3f}")
print(f"hit@10 on the left-out item of every user: {leave_one_out():.3f} (chance about {10/176:.3f})")
