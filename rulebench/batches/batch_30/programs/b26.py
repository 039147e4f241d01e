"""Topic classification of short notes with an embedding-bag model (Keras / JAX)."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import random
from collections import Counter
import numpy as np
import keras

random.seed(11)
keras.utils.set_random_seed(11)

TOPICS = {
    "garden": "rose soil spade water seed prune compost tulip hedge lawn mulch root".split(),
    "kitchen": "pan oven salt butter knife flour whisk simmer roast onion garlic stew".split(),
    "sea": "boat tide sail anchor wave harbour mast gull net salt storm deck".split(),
    "office": "desk memo printer meeting budget email chair agenda report client call lunch".split(),
}
FILLER = "the a and of to we was in very some then today it with again".split()
NAMES = sorted(TOPICS)


def make_note():
    label = random.randrange(len(NAMES))
    words = []
    for _ in range(random.randint(8, 16)):
        r = random.random()
        if r < 0.22:
            words.append(random.choice(TOPICS[NAMES[label]]))
        elif r < 0.34:
            words.append(random.choice(TOPICS[random.choice(NAMES)]))
        else:
            words.append(random.choice(FILLER))
    return " ".join(words), label


class Encoder:
    def __init__(self, max_words=100, length=16):
        self.max_words, self.length = max_words, length
        self.index = {}

    def fit(self, texts):
        freq = Counter(w for t in texts for w in t.split())
        self.index = {w: i + 2 for i, (w, _) in enumerate(freq.most_common(self.max_words))}
        return self

    def transform(self, texts):
        out = np.zeros((len(texts), self.length), dtype="int32")
        for r, t in enumerate(texts):
            ids = [self.index.get(w, 1) for w in t.split()][: self.length]
            out[r, : len(ids)] = ids
        return out

    def fit_transform(self, texts):
        return self.fit(texts).transform(texts)


notes = [make_note() for _ in range(4000)]
train, test = notes[:3200], notes[3200:]
enc = Encoder()
x_train = enc.fit_transform([t for t, _ in train])
x_test = enc.fit_transform([t for t, _ in test])
y_train = np.array([l for _, l in train])
y_test = np.array([l for _, l in test])

inp = keras.Input((16,), dtype="int32")
h = keras.layers.Embedding(102, 24)(inp)
h = keras.layers.GlobalAveragePooling1D()(h)
h = keras.layers.Dense(32, activation="relu")(h)
out = keras.layers.Dense(len(NAMES), activation="softmax")(h)
model = keras.Model(inp, out)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(x_train, y_train, epochs=15, batch_size=32, verbose=0,
                 validation_data=(x_test, y_test))
for e in range(0, 15, 3):
    print(e, {k: round(v[e], 4) for k, v in hist.history.items()})
print("test accuracy", round(model.evaluate(x_test, y_test, verbose=0)[1], 4))
