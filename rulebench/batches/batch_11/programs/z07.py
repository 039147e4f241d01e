"""Variable-length sequence labelling with masking and per-step sample weights (TensorFlow backend)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import keras
from keras import layers, ops

MAXLEN, VOCAB, CLASSES = 20, 30, 3


def make(n, seed):
    """Parity-like rule: class depends on the running sum of the last three tokens."""
    r = np.random.default_rng(seed)
    x, y, w = np.zeros((n, MAXLEN), "int32"), np.zeros((n, MAXLEN), "int32"), np.zeros((n, MAXLEN), "float32")
    for i in range(n):
        k = r.integers(5, MAXLEN + 1)
        t = r.integers(1, VOCAB, k)
        x[i, :k], w[i, :k] = t, 1
        big = (t > VOCAB // 2).astype(int)
        run = big + np.r_[0, big[:-1]]
        y[i, :k] = run
    return x, y, w


class PositionAdd(layers.Layer):
    def __init__(self, n, dim, **kw):
        super().__init__(**kw)
        self.n, self.dim = n, dim
        self.supports_masking = True

    def build(self, shape):
        self.table = self.add_weight(shape=(self.n, self.dim), initializer="random_normal", name="table")

    def call(self, x):
        return x + self.table[None, :ops.shape(x)[1]]


def build():
    ids = keras.Input((MAXLEN,), dtype="int32")
    h = layers.Embedding(VOCAB, 24, mask_zero=True)(ids)
    h = PositionAdd(MAXLEN, 24)(h)
    h = layers.Bidirectional(layers.GRU(24, return_sequences=True))(h)
    return keras.Model(ids, layers.TimeDistributed(layers.Dense(CLASSES))(h))


def main():
    keras.utils.set_random_seed(3)
    x, y, w = make(1600, 0)
    xv, yv, wv = make(300, 1)
    model = build()
    model.compile(keras.optimizers.AdamW(5e-3, weight_decay=1e-4),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")])
    model.fit(x, y, sample_weight=w, validation_data=(xv, yv, wv), epochs=6, batch_size=32, verbose=2)
    p = model.predict(xv, verbose=0).argmax(-1)
    print("token accuracy on real positions", float((p == yv)[wv > 0].mean()))


if __name__ == "__main__":
    main()
