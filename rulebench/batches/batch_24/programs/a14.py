"""Character model over a tiny word corpus."""
import os
os.environ["KERAS_BACKEND"] = "torch"
from dataclasses import dataclass
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(13)


@dataclass
class Config:
    context: int = 24
    dim: int = 32
    heads: int = 2
    blocks: int = 1
    batch: int = 64
    epochs: int = 5


cfg = Config()
alphabet = "abcdefgh .;"
stoi = {c: i for i, c in enumerate(alphabet)}
WORDS = ["bad cab", "feed", "head", "face", "edge", "gag", "dad had", "beach", "cage", "fade"]


def corpus(n_words, seed):
    rng = np.random.default_rng(seed)
    # every word prefers two followers
    nxt = {i: [(3 * i + 1) % len(WORDS), (7 * i + 4) % len(WORDS)] for i in range(len(WORDS))}
    i, out = 0, []
    for _ in range(n_words):
        out.append(WORDS[i])
        out.append(" " if rng.random() < 0.8 else ". ")
        i = nxt[i][int(rng.random() < 0.3)]
    return "".join(out)


def windows(text, stride):
    ids = np.array([stoi[c] for c in text])
    starts = np.arange(0, len(ids) - cfg.context - 1, stride)
    x = np.stack([ids[s:s + cfg.context] for s in starts])
    y = np.stack([ids[s + 1:s + cfg.context + 1] for s in starts])
    return x, y


class TokenAndPosition(layers.Layer):
    def __init__(self, vocab, length, dim, **kw):
        super().__init__(**kw)
        self.tok = layers.Embedding(vocab, dim)
        self.pos = layers.Embedding(length, dim)

    def call(self, ids):
        return self.tok(ids) + self.pos(ops.arange(ids.shape[1]))


class Block(layers.Layer):
    def __init__(self, dim, heads, **kw):
        super().__init__(**kw)
        self.att = layers.MultiHeadAttention(heads, dim // heads)
        self.n1, self.n2 = layers.LayerNormalization(), layers.LayerNormalization()
        self.ff = keras.Sequential([layers.Dense(4 * dim, activation="gelu"), layers.Dense(dim)])

    def build(self, shape):
        self.att.build(shape, shape)
        self.n1.build(shape)
        self.n2.build(shape)
        self.ff.build(shape)

    def call(self, x):
        t = x.shape[1]
        mask = ops.triu(ops.ones((1, t, t), dtype="bool"))
        h = self.n1(x)
        x = x + self.att(h, h, attention_mask=mask)
        return x + self.ff(self.n2(x))


inp = keras.Input((cfg.context,), dtype="int32")
x = TokenAndPosition(len(alphabet), cfg.context, cfg.dim)(inp)
for _ in range(cfg.blocks):
    x = Block(cfg.dim, cfg.heads)(x)
logits = layers.Dense(len(alphabet))(layers.LayerNormalization()(x))
lm = keras.Model(inp, logits)

x_train, y_train = windows(corpus(3000, 0), 7)
x_val, y_val = windows(corpus(600, 1), 7)
lm.compile(optimizer=keras.optimizers.AdamW(5e-3, weight_decay=0.01),
           loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
           metrics=["accuracy"])
lm.fit(x_train, y_train, batch_size=cfg.batch, epochs=cfg.epochs,
       validation_data=(x_val, y_val), verbose=2)


def continue_text(prompt, n):
    ids = [stoi[c] for c in prompt]
    for _ in range(n):
        ctx = np.array([ids[-cfg.context:]])
        ids.append(int(lm.predict(ctx, verbose=0)[0, -1].argmax()))
    return "".join(alphabet[i] for i in ids)


text = continue_text("bad cab fade edge cage had"[:cfg.context], 40)
print("sample:", repr(text))
generated = text[cfg.context:].replace(".", "").split()[1:-1]
known = set(" ".join(WORDS).split())
print("share of valid words in the continuation:", np.mean([w in known for w in generated]))
