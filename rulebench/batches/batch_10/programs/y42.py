import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import keras
from keras import layers

# toy sentiment: which kind of word occurs more often in the review
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
VOCAB, MAXLEN = 200, 120
POS, NEG = np.arange(1, 20), np.arange(20, 39)


def make_review(label):
    n = rng.integers(6, 16)
    words = rng.integers(39, VOCAB, n)
    k = rng.integers(2, 5)
    where = rng.choice(n, k, replace=False)
    words[where] = rng.choice(POS if label else NEG, k)
    return words


y = rng.integers(0, 2, 1600)
seqs = [make_review(l) for l in y]
X = keras.utils.pad_sequences(seqs, maxlen=MAXLEN, padding="post", truncating="post")
X_train, y_train, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(VOCAB, 16),
    layers.LSTM(24),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(5e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit(X_train, y_train, epochs=8, batch_size=64, validation_data=(X_test, y_test), verbose=2)
print("test accuracy", model.evaluate(X_test, y_test, verbose=0)[1])
