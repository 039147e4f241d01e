import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

# Promoter-like toy task: is the motif TATAA (one mismatch allowed at position 3) in the read?
# Reads have different lengths and are padded at the end.
keras.utils.set_random_seed(1)
ALPHABET = "ACGT"
MAXLEN = 30
char_to_id = {c: i for i, c in enumerate(ALPHABET)}


def random_read(rng):
    return list(rng.choice(list(ALPHABET), size=rng.integers(20, MAXLEN + 1)))


def make_reads(n, seed):
    rng = np.random.default_rng(seed)
    reads, labels = [], []
    while len(reads) < n:
        r = random_read(rng)
        lab = len(reads) % 2
        p = rng.integers(0, len(r) - 5)
        if lab:
            r[p:p + 5] = list("TA" + rng.choice(list(ALPHABET)) + "AA")
        else:
            r[p:p + 5] = list("TC" + rng.choice(list(ALPHABET)) + "CC")
        reads.append("".join(r))
        labels.append(lab)
    return reads, np.array(labels, dtype="float32")


def encode(reads):
    ids = [[char_to_id[c] for c in r] for r in reads]
    return keras.utils.pad_sequences(ids, maxlen=MAXLEN, padding="post", value=0)


reads_tr, y_tr = make_reads(3000, 0)
reads_te, y_te = make_reads(800, 99)
x_tr, x_te = encode(reads_tr), encode(reads_te)
perm = np.random.default_rng(4).permutation(len(x_tr))
x_tr, y_tr = x_tr[perm], y_tr[perm]

model = keras.Sequential([
    keras.Input((MAXLEN,), dtype="int32"),
    layers.Embedding(len(ALPHABET) + 1, 8, mask_zero=True),
    layers.Bidirectional(layers.GRU(24)),
    layers.Dense(16, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(keras.optimizers.Adam(4e-3), "binary_crossentropy", metrics=["accuracy"])
model.fit(x_tr, y_tr, batch_size=64, epochs=14, validation_data=(x_te, y_te), verbose=2)
print("held-out accuracy", round(model.evaluate(x_te, y_te, verbose=0)[1], 4))
