import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

# ---------------------------------------------------------------------
# toy corpus: simple sentences from a small grammar, character level
# ---------------------------------------------------------------------
subjects = ["the cat", "a dog", "my friend", "the old man", "one bird"]
verbs = ["sees", "likes", "follows", "finds"]
objects_ = ["a red house", "the river", "some bread", "the green hill", "his hat"]
sentences = [
    f"{rng.choice(subjects)} {rng.choice(verbs)} {rng.choice(objects_)}. " for _ in range(900)
]
text = "".join(sentences)
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = np.array([stoi[c] for c in text], dtype="int32")

CTX = 32
starts = np.arange(0, len(data) - CTX - 1, 11)
x = np.stack([data[s:s + CTX] for s in starts])
y = np.stack([data[s + 1:s + CTX + 1] for s in starts])
split = int(0.9 * len(x))
print("windows", x.shape, "vocab", len(chars))


class TokenAndPosition(layers.Layer):
    def __init__(self, maxlen, vocab, dim):
        super().__init__()
        self.tok = layers.Embedding(vocab, dim)
        self.pos = layers.Embedding(maxlen, dim)

    def call(self, ids):
        return self.tok(ids) + self.pos(ops.arange(ops.shape(ids)[-1]))


class Block(layers.Layer):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1 = layers.LayerNormalization()
        self.attn = layers.MultiHeadAttention(heads, dim // heads)
        self.ln2 = layers.LayerNormalization()
        self.ff = keras.Sequential([layers.Dense(4 * dim, activation="gelu"), layers.Dense(dim)])

    def call(self, h):
        a = self.ln1(h)
        h = h + self.attn(a, a)
        return h + self.ff(self.ln2(h))


inp = keras.Input((CTX,), dtype="int32")
h = TokenAndPosition(CTX, len(chars), 48)(inp)
h = Block(48, 4)(h)
h = Block(48, 4)(h)
h = layers.LayerNormalization()(h)
model = keras.Model(inp, layers.Dense(len(chars))(h))

model.compile(
    optimizer=keras.optimizers.AdamW(3e-3, weight_decay=0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(x[:split], y[:split], validation_data=(x[split:], y[split:]),
          batch_size=32, epochs=4, verbose=2)

# continue a prompt greedily
prompt = text[-CTX * 4:-CTX * 3]
ids = [stoi[c] for c in prompt]
for _ in range(80):
    window = np.array([ids[-CTX:]], dtype="int32")
    logits = model.predict(window, verbose=0)[0, -1]
    ids.append(int(logits.argmax()))
sample = "".join(chars[i] for i in ids[CTX:])
print("prompt:", repr(prompt))
print("sample:", repr(sample))
words = set(" ".join(subjects + verbs + objects_).split())
made = [w.strip(".") for w in sample.split()[1:-1]]
print("known words in the sample: %d of %d" % (sum(w in words for w in made), len(made)))
