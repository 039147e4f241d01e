"""Small transformer encoder: are the brackets in the string balanced?"""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse

import numpy as np
import keras
from keras import layers, ops

PAD, OPEN, CLOSE = 0, 1, 2
MAX_LEN = 24


def balanced(rng, n_pairs):
    out, left, depth = [], n_pairs, 0
    while left or depth:
        if left and (depth == 0 or rng.random() < 0.5):
            out.append(OPEN)
            left, depth = left - 1, depth + 1
        else:
            out.append(CLOSE)
            depth -= 1
    return out


def is_balanced(seq):
    d = 0
    for t in seq:
        d += 1 if t == OPEN else -1
        if d < 0:
            return False
    return d == 0


def dataset(n, rng):
    x, y = np.zeros((n, MAX_LEN), "int32"), np.zeros(n, "int32")
    for k in range(n):
        seq = balanced(rng, rng.integers(3, MAX_LEN // 2 + 1))
        if rng.random() < 0.5:
            for i in rng.choice(len(seq), size=rng.integers(1, 4), replace=False):
                seq[i] = OPEN + CLOSE - seq[i]
        x[k, :len(seq)] = seq
        y[k] = is_balanced(seq)
    return x, y


class Embed(layers.Layer):
    def __init__(self, vocab, length, dim):
        super().__init__()
        self.tok = layers.Embedding(vocab, dim, mask_zero=True)
        self.pos = layers.Embedding(length, dim)
        self.supports_masking = True

    def build(self, shape):
        self.tok.build(shape)
        self.pos.build((shape[1],))

    def compute_mask(self, x, mask=None):
        return ops.not_equal(x, PAD)

    def call(self, x):
        return self.tok(x) + self.pos(ops.arange(ops.shape(x)[1]))


def block(h, heads, dim, rate):
    a = layers.LayerNormalization()(h)
    a = layers.MultiHeadAttention(heads, dim // heads)(a, a)
    h = layers.Add()([h, layers.Dropout(rate)(a)])
    f = layers.LayerNormalization()(h)
    f = layers.Dense(2 * dim, activation="gelu")(f)
    f = layers.Dense(dim)(f)
    return layers.Add()([h, layers.Dropout(rate)(f)])


@keras.saving.register_keras_serializable()
class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warmup, total):
        self.peak, self.warmup, self.total = peak, warmup, total

    def __call__(self, step):
        s = ops.cast(step, "float32")
        up = s / self.warmup
        down = 0.5 * (1 + ops.cos(np.pi * (s - self.warmup) / (self.total - self.warmup)))
        return self.peak * ops.where(s < self.warmup, up, down)

    def get_config(self):
        return {"peak": self.peak, "warmup": self.warmup, "total": self.total}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch", type=int, default=64)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    keras.utils.set_random_seed(15)
    rng = np.random.default_rng(15)
    x_tr, y_tr = dataset(6000, rng)
    x_te, y_te = dataset(1000, rng)
    print("balanced share", y_tr.mean())

    inp = keras.Input((MAX_LEN,), dtype="int32")
    h = Embed(3, MAX_LEN, args.dim)(inp)
    for _ in range(2):
        h = block(h, 2, args.dim, 0.05)
    h = layers.LayerNormalization()(h)
    h = layers.GlobalAveragePooling1D()(h)
    model = keras.Model(inp, layers.Dense(1)(h))

    steps = args.epochs * int(np.ceil(len(x_tr) / args.batch))
    model.compile(optimizer=keras.optimizers.AdamW(WarmupCosine(args.lr, 60, steps), clipnorm=1.0),
                  loss=keras.losses.BinaryCrossentropy(from_logits=True),
                  metrics=[keras.metrics.BinaryAccuracy(threshold=0.0, name="acc")])
    model.fit(x_tr, y_tr, batch_size=args.batch, epochs=args.epochs,
              validation_data=(x_te, y_te), verbose=2)
    logit = model.predict(x_te, verbose=0).ravel()
    print("test accuracy %.3f, majority %.3f"
          % (((logit > 0) == y_te).mean(), max(y_te.mean(), 1 - y_te.mean())))


if __name__ == "__main__":
    main()
