import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

"""AT-skew of variable length reads: is there more A than T in a read?"""

ALPHABET = "ACGT"
CODE = {base: i for i, base in enumerate(ALPHABET)}
MAXLEN = 40


def sample_read(rng):
    n = rng.integers(15, MAXLEN + 1)
    p = rng.dirichlet([3, 3, 3, 3])
    return "".join(rng.choice(list(ALPHABET), size=n, p=p))


def encode(reads):
    ids = [[CODE[b] for b in r] for r in reads]
    return keras.utils.pad_sequences(ids, maxlen=MAXLEN, padding="post")


rng = np.random.default_rng(5)
reads, labels = [], []
while len(reads) < 5000:
    r = sample_read(rng)
    d = r.count("A") - r.count("T")
    if abs(d) < 2:            # no clear skew, leave out
        continue
    reads.append(r)
    labels.append(int(d > 0))
X = encode(reads)
y = np.array(labels)
X_train, y_train, X_val, y_val = X[:4000], y[:4000], X[4000:], y[4000:]

keras.utils.set_random_seed(5)
model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(len(ALPHABET) + 1, 8, mask_zero=True),   # padding is masked
    layers.GRU(24),
    layers.Dense(1),
])
model.compile(optimizer=keras.optimizers.Adam(5e-3),
              loss=keras.losses.BinaryCrossentropy(from_logits=True),
              metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="acc")])
model.summary()
model.fit(X_train, y_train, validation_data=(X_val, y_val), batch_size=64, epochs=10, verbose=2)
print("held-out accuracy: %.3f" % model.evaluate(X_val, y_val, verbose=0)[1])
