import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)

# Character model over arithmetic progressions modulo 10, e.g. "3-5-7-9-1-3-"
CHARS = "0123456789-"
stoi = {c: i for i, c in enumerate(CHARS)}
SEQ = 24


def sample_line():
    start, step = rng.integers(0, 10), rng.integers(1, 10)
    s = "".join(f"{(start + k * step) % 10}-" for k in range(SEQ))
    return s[: SEQ + 1]


lines = [sample_line() for _ in range(1500)]
ids = np.array([[stoi[c] for c in line] for line in lines], dtype="int32")
x_train, y_train = ids[:1200, :-1], ids[:1200, 1:]
x_val, y_val = ids[1200:, :-1], ids[1200:, 1:]


class PositionalEmbedding(layers.Layer):
    def __init__(self, vocab, length, dim):
        super().__init__()
        self.tok = layers.Embedding(vocab, dim)
        self.pos = layers.Embedding(length, dim)

    def call(self, x):
        return self.tok(x) + self.pos(ops.arange(ops.shape(x)[1]))


class Block(layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.att = layers.MultiHeadAttention(heads, dim // heads)
        self.n1 = layers.LayerNormalization()
        self.n2 = layers.LayerNormalization()
        self.ff = keras.Sequential([layers.Dense(4 * dim, activation="gelu"), layers.Dense(dim)])

    def call(self, x):
        h = self.n1(x)
        x = x + self.att(h, h)
        return x + self.ff(self.n2(x))


DIM = 48
inp = keras.Input((SEQ,), dtype="int32")
h = PositionalEmbedding(len(CHARS), SEQ, DIM)(inp)
for _ in range(2):
    h = Block(DIM, 4)(h)
h = layers.LayerNormalization()(h)
model = keras.Model(inp, layers.Dense(len(CHARS))(h))
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=10, batch_size=50, verbose=2)


def generate(prompts, n_new):
    """Greedy continuation of a batch of prompts."""
    seq = prompts.copy()
    for _ in range(n_new):
        t = seq.shape[1]
        padded = np.zeros((len(seq), SEQ), dtype="int32")
        padded[:, :t] = seq
        logits = model.predict_on_batch(padded)
        seq = np.concatenate([seq, logits[:, t - 1].argmax(-1)[:, None].astype("int32")], axis=1)
    return seq


PROMPT = 6
gen = generate(ids[1200:1300, :PROMPT], SEQ - PROMPT)
for row in gen[:4]:
    print("".join(CHARS[i] for i in row))
ref = ids[1200:1300, :SEQ]
print(f"share of right generated characters: {np.mean(gen[:, PROMPT:] == ref[:, PROMPT:]):.3f}")
