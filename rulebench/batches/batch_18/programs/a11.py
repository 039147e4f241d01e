import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

pos = "great good lovely excellent fun happy wonderful brilliant".split()
neg = "bad awful boring terrible sad poor horrible dull".split()
neutral = "the a movie film plot actor scene it was is and with some of story very music end".split()

def review(label):
    words = list(rng.choice(neutral, rng.integers(6, 14)))
    own, other = (pos, neg) if label else (neg, pos)
    words += list(rng.choice(own, 2)) + (list(rng.choice(other, 1)) if rng.random() < 0.5 else [])
    rng.shuffle(words)
    return words

labels = rng.integers(0, 2, 2000)
texts = [review(l) for l in labels]

vocab = {w: i + 1 for i, w in enumerate(sorted(set(pos + neg + neutral)))}
maxlen = 20
X = np.zeros((len(texts), maxlen), dtype="int32")
for i, words in enumerate(texts):
    ids = [vocab[w] for w in words][:maxlen]
    X[i, :len(ids)] = ids
y = labels.astype("float32")

perm = rng.permutation(len(X))
X = X[perm]

model = keras.Sequential([
    keras.Input((maxlen,), dtype="int32"),
    layers.Embedding(len(vocab) + 1, 16),
    layers.GlobalAveragePooling1D(),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(5e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X[:1600], y[:1600], epochs=12, batch_size=32, validation_data=(X[1600:], y[1600:]), verbose=2)

print("test:", model.evaluate(X[1600:], y[1600:], verbose=0))
