"""Two-view retrieval: match a noisy description vector to its item."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(6)

ITEMS_TRAIN, ITEMS_TEST = 2000, 400
EMB = 32
TEMPERATURE = 0.1


def make_pairs(n, rng, mix_a, mix_b):
    latent = rng.normal(0, 1, (n, 12)) * rng.lognormal(0, 0.7, (n, 1))
    a = np.tanh(latent @ mix_a) + rng.normal(0, 0.15, (n, 40))
    b = np.tanh(latent @ mix_b) + rng.normal(0, 0.15, (n, 60))
    return a.astype("float32"), b.astype("float32")


rng = np.random.default_rng(0)
mix_a, mix_b = rng.normal(0, 0.4, (12, 40)), rng.normal(0, 0.4, (12, 60))
a_train, b_train = make_pairs(ITEMS_TRAIN, rng, mix_a, mix_b)
a_test, b_test = make_pairs(ITEMS_TEST, rng, mix_a, mix_b)


def tower(dim, name):
    inp = keras.Input((dim,))
    x = layers.Dense(128, activation="relu")(inp)
    x = layers.Dense(64, activation="relu")(x)
    x = layers.Dense(EMB)(x)
    x = layers.UnitNormalization(axis=0)(x)
    return keras.Model(inp, x, name=name)


query_tower = tower(40, "query")
item_tower = tower(60, "item")

q_in, i_in = keras.Input((40,)), keras.Input((60,))
q, i = query_tower(q_in), item_tower(i_in)
scores = ops.matmul(q, ops.transpose(i)) / TEMPERATURE
model = keras.Model([q_in, i_in], scores)


def in_batch_softmax(y_true, scores):
    labels = ops.arange(ops.shape(scores)[0])
    loss = keras.losses.sparse_categorical_crossentropy(labels, scores, from_logits=True)
    back = keras.losses.sparse_categorical_crossentropy(labels, ops.transpose(scores), from_logits=True)
    return (ops.mean(loss) + ops.mean(back)) / 2


model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=in_batch_softmax)
dummy = np.zeros((ITEMS_TRAIN, 1), "float32")
model.fit([a_train, b_train], dummy, batch_size=100, epochs=25, verbose=2)

# retrieval over the whole catalogue; queries come in one by one
items = item_tower.predict(b_test, batch_size=100, verbose=0)
queries = np.concatenate([np.array(query_tower(a_test[k:k + 1])) for k in range(len(a_test))])
rank = np.argsort(-(queries @ items.T), axis=1)
pos = np.array([np.where(rank[k] == k)[0][0] for k in range(len(a_test))])
print("recall@1  %.3f" % np.mean(pos < 1))
print("recall@10 %.3f" % np.mean(pos < 10))
print("mrr       %.3f" % np.mean(1 / (pos + 1)))
