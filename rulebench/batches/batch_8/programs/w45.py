import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

# is the first token repeated later in the sequence?  a small transformer encoder
rng = np.random.default_rng(110)
n, T, V = 6000, 10, 12
X = rng.integers(1, V, (n, T))
y = rng.integers(0, 2, n)
for i in range(n):
    hit = np.where(X[i, 1:] == X[i, 0])[0] + 1
    X[i, hit] = X[i, 0] % (V - 1) + 1
    if y[i]:
        X[i, rng.integers(1, T)] = X[i, 0]


class TokenAndPosition(layers.Layer):
    def __init__(self, maxlen, vocab, dim, **kw):
        super().__init__(**kw)
        self.tok = layers.Embedding(vocab, dim)
        self.pos = layers.Embedding(maxlen, dim)

    def call(self, x):
        return self.tok(x) + self.pos(ops.arange(ops.shape(x)[-1]))


keras.utils.set_random_seed(110)
inp = keras.Input((T,), dtype="int32")
h = TokenAndPosition(T, V, 32)(inp)
for _ in range(2):
    a = layers.MultiHeadAttention(4, 8)(h, h)
    h = layers.LayerNormalization()(h + a)
    f = layers.Dense(64, activation="gelu")(h)
    h = layers.LayerNormalization()(h + layers.Dense(32)(f))
out = layers.Dense(1, activation="sigmoid")(layers.GlobalAveragePooling1D()(h))
model = keras.Model(inp, out)
model.compile(keras.optimizers.AdamW(2e-3, weight_decay=1e-4), "binary_crossentropy", metrics=["accuracy"])
model.fit(X[:5400], y[:5400], batch_size=64, epochs=10, validation_data=(X[5400:], y[5400:]), verbose=2)
