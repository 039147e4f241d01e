import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

VOCAB, MAXLEN = 60, 200
POS, NEG = list(range(2, 10)), list(range(10, 18))


def make_review():
    length = rng.integers(5, 16)
    label = rng.integers(0, 2)
    words = rng.integers(18, VOCAB, length)
    k = rng.integers(2, 4)
    where = rng.choice(length, k, replace=False)
    words[where] = rng.choice(POS if label else NEG, k)
    return words.tolist(), label


reviews, labels = zip(*[make_review() for _ in range(1500)])
x = keras.utils.pad_sequences(reviews, maxlen=MAXLEN, padding="post")
y = np.array(labels)
x_tr, x_te, y_tr, y_te = x[:1200], x[1200:], y[:1200], y[1200:]

model = keras.Sequential([
    layers.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(VOCAB, 16),
    layers.LSTM(16),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_tr, y_tr, epochs=8, batch_size=32, validation_data=(x_te, y_te), verbose=2)
print(model.evaluate(x_te, y_te, verbose=0))
