# ported from our pytorch encoder, keras 3 / jax backend
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(123)
VOCAB, MAXLEN, DIM = 40, 24, 32
PAD, CLS = 0, 1


def sample(rng, n):
    """Label = do 'positive' words (2..12) outnumber 'negative' words (13..23)? Others are filler."""
    xs = np.zeros((n, MAXLEN), "int32")
    ys = np.zeros(n, "int32")
    for i in range(n):
        L = rng.integers(6, MAXLEN - 2)
        while True:
            toks = rng.integers(2, VOCAB, L)
            pos = ((toks >= 2) & (toks <= 12)).sum()
            neg = ((toks >= 13) & (toks <= 23)).sum()
            if pos != neg:
                break
        xs[i, 0] = CLS
        xs[i, 1:L + 1] = toks
        ys[i] = int(pos > neg)
    return xs, ys


rng = np.random.default_rng(0)
x_train, y_train = sample(rng, 3000)
x_val, y_val = sample(rng, 800)


@keras.saving.register_keras_serializable()
class PadMask(layers.Layer):
    """(B, T) ids -> (B, 1, T) padding mask for the attention layers"""

    def call(self, ids):
        return ops.equal(ids, PAD)[:, None, :]


class Positions(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(MAXLEN, DIM), initializer="random_normal", name="table")

    def call(self, x):
        return x + self.table


ids = keras.Input((MAXLEN,), dtype="int32")
mask = PadMask()(ids)
h = Positions()(layers.Embedding(VOCAB, DIM)(ids))
for _ in range(2):
    a = layers.MultiHeadAttention(4, DIM // 4)(h, h, attention_mask=mask)
    h = layers.LayerNormalization()(h + a)
    f = layers.Dense(64, activation="gelu")(h)
    f = layers.Dense(DIM)(f)
    h = layers.LayerNormalization()(h + f)
out = layers.Dense(1)(h[:, 0])
model = keras.Model(ids, out)
model.compile(
    optimizer=keras.optimizers.AdamW(1e-3),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="acc")],
)
model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=64, epochs=10, verbose=2)
print("val accuracy", round(float(model.evaluate(x_val, y_val, verbose=0)[1]), 4))
