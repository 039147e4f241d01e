import os
os.environ["KERAS_BACKEND"] = "tensorflow"
"""Tagging short documents: every document may carry several of 6 topics."""
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(21)
rng = np.random.default_rng(21)
V, K, N, L = 300, 6, 3000, 40
topic_words = rng.dirichlet(np.full(V, 0.05), size=K)
background = rng.dirichlet(np.full(V, 1.0))


def document():
    tags = rng.random(K) < 0.3
    probs = 0.35 * background
    if tags.any():
        probs = probs + 0.65 * topic_words[tags].mean(0)
    return rng.choice(V, L, p=probs / probs.sum()), tags


docs, tags = zip(*[document() for _ in range(N)])
bow = np.stack([np.bincount(d, minlength=V) for d in docs]).astype("float32")
bow = np.log1p(bow)
Y = np.stack(tags).astype("float32")
x_train, y_train, x_test, y_test = bow[:2400], Y[:2400], bow[2400:], Y[2400:]
print("mean tags per document", Y.sum(1).mean())

inputs = keras.Input((V,))
h = layers.Dense(64, activation="relu")(inputs)
h = layers.Dropout(0.3)(h)
outputs = layers.Dense(K, activation="softmax")(h)
model = keras.Model(inputs, outputs)
model.compile("adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=15, batch_size=32, validation_split=0.1, verbose=2)

p = model.predict(x_test, verbose=0) > 0.5
tp = (p & (y_test > 0)).sum()
f1 = 2 * tp / (p.sum() + y_test.sum())
print("micro F1 at 0.5: %.4f   exact match: %.4f" % (f1, (p == (y_test > 0)).all(1).mean()))
