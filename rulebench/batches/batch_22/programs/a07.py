"""Character-level GRU language model on a toy animal corpus."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(31)

SEQ_LEN = 32
BATCH = 64
EPOCHS = 5

rng = np.random.default_rng(31)
animals = ["cat", "dog", "horse", "ant", "frog"]
sounds = {"cat": "meows", "dog": "barks", "horse": "neighs", "ant": "is silent", "frog": "croaks"}
lines = []
for _ in range(3000):
    a = animals[rng.integers(len(animals))]
    n = rng.integers(1, 4)
    lines.append(f"the {a} {sounds[a]} " + "again " * n + "\n")
corpus = "".join(lines)

vocab = sorted(set(corpus))
char_to_id = {c: i for i, c in enumerate(vocab)}
encoded = np.array([char_to_id[c] for c in corpus], dtype="int32")
print("characters:", len(encoded), "vocabulary:", len(vocab))

cut = int(0.9 * len(encoded))


def make_dataset(ids, shuffle):
    ds = tf.data.Dataset.from_tensor_slices(ids).batch(SEQ_LEN + 1, drop_remainder=True)
    ds = ds.map(lambda chunk: (chunk[:-1], chunk[1:]))
    if shuffle:
        ds = ds.shuffle(5000, seed=0)
    return ds.batch(BATCH, drop_remainder=True).prefetch(1)


train_ds = make_dataset(encoded[:cut], True)
val_ds = make_dataset(encoded[cut:], False)

model = keras.Sequential([
    keras.Input((SEQ_LEN,), dtype="int32"),
    layers.Embedding(len(vocab), 24),
    layers.GRU(48, return_sequences=True),
    layers.Dense(len(vocab)),
])
model.compile(
    optimizer=keras.optimizers.Adam(5e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(train_ds, validation_data=val_ds, epochs=EPOCHS, verbose=2)


def generate(prompt, n, temperature=0.5):
    ids = [char_to_id[c] for c in prompt]
    for _ in range(n):
        window = ids[-SEQ_LEN:]
        last = len(window) - 1
        window = window + [0] * (SEQ_LEN - len(window))
        logits = model(np.array([window]), training=False).numpy()[0, last] / temperature
        p = np.exp(logits - logits.max())
        ids.append(int(rng.choice(len(vocab), p=p / p.sum())))
    return "".join(vocab[i] for i in ids)


print("val loss:", model.evaluate(val_ds, verbose=0))
print(generate("the frog ", 40))
