"""Character-level transformer on a small grammar, Keras with the JAX backend."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

SUBJECTS = ["the cat", "a dog", "my aunt", "the baker"]
VERBS = ["sees", "likes", "follows", "paints"]
OBJECTS = ["a red boat", "the old mill", "my garden", "a small bird"]


def sentence():
    return f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)}. "


text = "".join(sentence() for _ in range(700))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = np.array([stoi[c] for c in text], dtype="int32")

CONTEXT = 32
split = int(0.9 * len(ids))


def windows(seq, stride):
    starts = np.arange(0, len(seq) - CONTEXT - 1, stride)
    x = np.stack([seq[s:s + CONTEXT] for s in starts])
    y = np.stack([seq[s + 1:s + CONTEXT + 1] for s in starts])
    return x, y


x_train, y_train = windows(ids[:split], 20)
x_val, y_val = windows(ids[split:], 20)


class TokenAndPosition(layers.Layer):
    def __init__(self, vocab, length, dim, **kw):
        super().__init__(**kw)
        self.tok = layers.Embedding(vocab, dim)
        self.pos = layers.Embedding(length, dim)

    def call(self, x):
        return self.tok(x) + self.pos(ops.arange(ops.shape(x)[-1]))


def block(x, dim, heads):
    h = layers.LayerNormalization()(x)
    h = layers.MultiHeadAttention(heads, dim // heads)(h, h, use_causal_mask=True)
    x = x + h
    h = layers.LayerNormalization()(x)
    h = layers.Dense(dim * 2, activation="gelu")(h)
    return x + layers.Dense(dim)(h)


inp = keras.Input((CONTEXT,), dtype="int32")
h = TokenAndPosition(len(chars), CONTEXT, 32)(inp)
h = block(h, 32, 2)
logits = layers.Dense(len(chars))(layers.LayerNormalization()(h))
model = keras.Model(inp, logits)
model.compile(keras.optimizers.Adam(6e-3, clipnorm=1.0),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=6, batch_size=32, verbose=2)


def generate(prompt, n):
    out = [stoi[c] for c in prompt]
    for _ in range(n):
        ctx = out[-CONTEXT:]
        padded = np.array([ctx + [0] * (CONTEXT - len(ctx))], dtype="int32")
        step = np.asarray(model.predict_on_batch(padded))[0, len(ctx) - 1]
        p = np.exp((step - step.max()) / 0.7)
        out.append(int(rng.choice(len(chars), p=p / p.sum())))
    return "".join(chars[i] for i in out)


print(generate("the cat ", 60))
