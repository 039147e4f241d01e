"""Bag-of-embeddings sentiment model on generated reviews.

Token ids are frequency ranks, as in the IMDB set: 1..150 are function words,
the opinion words are rarer.
"""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
FULL_VOCAB = 3000
NUM_WORDS = 200
MAXLEN = 30

pos_words = np.arange(400, 700)
neg_words = np.arange(700, 1000)


def review(label):
    n = rng.integers(12, MAXLEN + 1)
    toks = rng.integers(1, 151, n)
    k = rng.integers(3, 7)
    own, other = (pos_words, neg_words) if label else (neg_words, pos_words)
    where = rng.choice(n, k, replace=False)
    toks[where] = rng.choice(own, k)
    if rng.random() < 0.3:
        toks[where[0]] = rng.choice(other)
    if rng.random() < 0.5:
        toks[rng.integers(0, n)] = rng.integers(1000, FULL_VOCAB)
    out = np.zeros(MAXLEN, "int32")
    out[:n] = toks
    return out


y = rng.integers(0, 2, 2400)
X = np.stack([review(v) for v in y])
X = np.minimum(X, NUM_WORDS - 1)          # last id stands for "rare word"

inp = layers.Input((MAXLEN,), dtype="int32")
e = layers.Embedding(NUM_WORDS, 16, mask_zero=True)(inp)
h = layers.GlobalAveragePooling1D()(e)
h = layers.Dense(16, activation="relu")(h)
out = layers.Dense(1, activation="sigmoid")(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(3e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit(X[:2000], y[:2000], validation_data=(X[2000:], y[2000:]), epochs=12, batch_size=50, verbose=2)
