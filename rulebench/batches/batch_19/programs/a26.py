import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)

# Short product reviews, made from templates
POS = ["great", "lovely", "solid", "superb", "pleasant"]
NEG = ["awful", "poor", "broken", "dull", "flimsy"]
FILL = (
    "the this that a an case phone cable box lamp desk chair bag shoe watch was is looks feels seems "
    "very really quite so rather item product it from here there after with of"
).split()


def make_review():
    n = rng.integers(5, 10)
    words = list(rng.choice(FILL, size=n))
    sentiment = int(rng.integers(0, 2))
    pos = rng.integers(1, n)
    words[pos] = rng.choice(POS if sentiment else NEG)
    if rng.random() < 0.3:
        words.insert(pos, "not")
        sentiment = 1 - sentiment
    return words, sentiment


reviews = [make_review() for _ in range(3000)]
counts = {}
for words, _ in reviews:
    for w in words:
        counts[w] = counts.get(w, 0) + 1
# most frequent words first
order = sorted(counts, key=counts.get, reverse=True)
vocab = {w: i for i, w in enumerate(order)}
print("vocabulary:", len(vocab), "top:", order[:5])

sequences = [[vocab[w] for w in words] for words, _ in reviews]
labels = np.array([s for _, s in reviews], dtype="float32")
MAXLEN = 12
tokens = keras.utils.pad_sequences(sequences, maxlen=MAXLEN, padding="post")

x_train, x_val, x_test = tokens[:2000], tokens[2000:2500], tokens[2500:]
y_train, y_val, y_test = labels[:2000], labels[2000:2500], labels[2500:]

model = keras.Sequential(
    [
        keras.Input((MAXLEN,), dtype="int32"),
        layers.Embedding(len(vocab) + 1, 16, mask_zero=True),
        layers.GRU(20),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=7, batch_size=64, verbose=2)
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print(f"test loss {loss:.4f} accuracy {acc:.4f}")
