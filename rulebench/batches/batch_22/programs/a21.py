"""Tiny GPT on synthetic 'shop log' sentences, Keras 3 on torch."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(1)

NAMES = ["ann", "bob", "cyd", "dee", "eve", "fay"]
VERBS = {"buys": ["bread", "milk", "apples"], "returns": ["shoes", "a coat"], "asks for": ["a bag", "a receipt"]}
DAYS = ["monday", "tuesday", "friday", "sunday"]
rng = np.random.default_rng(0)


def sentence():
    verb = rng.choice(list(VERBS))
    return f"on {rng.choice(DAYS)} {rng.choice(NAMES)} {verb} {rng.choice(VERBS[verb])}. "


text = "".join(sentence() for _ in range(3000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = np.array([stoi[c] for c in text], dtype="int32")

CONTEXT, DIM, HEADS = 32, 32, 2


class Block(layers.Layer):
    def __init__(self, dim, heads, **kwargs):
        super().__init__(**kwargs)
        self.norm1 = layers.LayerNormalization(epsilon=1e-5)
        self.attn = layers.MultiHeadAttention(heads, dim // heads)
        self.norm2 = layers.LayerNormalization(epsilon=1e-5)
        self.ff = keras.Sequential([layers.Dense(dim * 4, activation="gelu"), layers.Dense(dim)])

    def call(self, x):
        h = self.norm1(x)
        x = x + self.attn(h, h)
        return x + self.ff(self.norm2(x))


class TokenAndPosition(layers.Layer):
    def __init__(self, vocab, length, dim, **kwargs):
        super().__init__(**kwargs)
        self.tok = layers.Embedding(vocab, dim)
        self.pos = layers.Embedding(length, dim)

    def call(self, x):
        return self.tok(x) + self.pos(ops.arange(ops.shape(x)[1]))


inp = keras.Input((CONTEXT,), dtype="int32")
h = TokenAndPosition(len(chars), CONTEXT, DIM)(inp)
for _ in range(2):
    h = Block(DIM, HEADS)(h)
h = layers.LayerNormalization()(h)
model = keras.Model(inp, layers.Dense(len(chars))(h))
model.compile(optimizer=keras.optimizers.AdamW(3e-3),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))

starts = rng.integers(0, len(ids) - CONTEXT - 1, 3600)
x = np.stack([ids[s:s + CONTEXT] for s in starts])
y = np.stack([ids[s + 1:s + CONTEXT + 1] for s in starts])
model.fit(x[:3200], y[:3200], validation_data=(x[3200:], y[3200:]), epochs=2, batch_size=32, verbose=2)

# sampling
seed = "on monday ann buys bread. on tuesday bob returns shoes. on friday "[-CONTEXT:]
out = [stoi[c] for c in seed]
for _ in range(40):
    logits = model.predict_on_batch(np.array([out[-CONTEXT:]], dtype="int32"))[0, -1] / 0.7
    p = np.exp(logits - logits.max())
    out.append(int(rng.choice(len(chars), p=p / p.sum())))
print("".join(chars[i] for i in out[CONTEXT:]))
