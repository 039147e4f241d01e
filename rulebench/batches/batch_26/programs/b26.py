"""Tagging short command sentences with a BiLSTM (slot filling).

Sentences have between 3 and 11 words and are padded with 0.
Tag 0 is used for the padding, tags 1..8 are the real slots.
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)
VOCAB, TAGS, MAXLEN = 250, 8, 50

word_tags = rng.integers(1, TAGS + 1, size=(VOCAB, 2))     # every word has two readings


def make_corpus(n):
    X = np.zeros((n, MAXLEN), "int32")
    Y = np.zeros((n, MAXLEN), "int32")
    for i in range(n):
        k = rng.integers(3, 12)
        w = rng.integers(1, VOCAB, size=k)
        X[i, :k] = w
        for j in range(k):
            # reading depends on the parity of the previous word
            r = int(w[j - 1]) % 2 if j > 0 else 0
            Y[i, j] = word_tags[w[j], r]
    return X, Y


x_train, y_train = make_corpus(1500)
x_val, y_val = make_corpus(400)

inp = keras.Input((MAXLEN,), dtype="int32")
h = layers.Embedding(VOCAB, 32)(inp)
h = layers.Bidirectional(layers.LSTM(24, return_sequences=True))(h)
out = layers.Dense(TAGS + 1, activation="softmax")(h)
model = keras.Model(inp, out)

model.compile(
    optimizer=keras.optimizers.Adam(3e-3),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.summary()
hist = model.fit(x_train, y_train, batch_size=64, epochs=7,
                 validation_data=(x_val, y_val), verbose=2)

loss, acc = model.evaluate(x_val, y_val, verbose=0)
print(f"validation tagging accuracy: {acc:.4f}")
