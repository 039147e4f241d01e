import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers, ops

VOCAB, LEN = 300, 20


def corpus(n, rng):
    """variable length documents of 3 classes, padded with 0"""
    p = np.random.default_rng(99).dirichlet(np.full(VOCAB - 1, 0.15), size=3)
    y = rng.integers(0, 3, n)
    x = np.zeros((n, LEN), "int32")
    for i in range(n):
        m = rng.integers(5, LEN + 1)
        mix = 0.6 * p[y[i]] + 0.4 / (VOCAB - 1)
        x[i, :m] = 1 + rng.choice(VOCAB - 1, m, p=mix / mix.sum())
    return x, y


class MaskedMean(layers.Layer):
    def call(self, inputs):
        emb, ids = inputs
        m = ops.cast(ops.expand_dims(ops.not_equal(ids, 0), -1), emb.dtype)
        return ops.sum(emb * m, 1) / ops.maximum(ops.sum(m, 1), 1.0)


def build():
    ids = layers.Input((LEN,), dtype="int32")
    e = layers.Embedding(VOCAB, 24)(ids)
    h = MaskedMean()([e, ids])
    h = layers.Dropout(0.3)(h)
    h = layers.Dense(32, activation="relu")(h)
    return keras.Model(ids, layers.Dense(3, activation="softmax")(h))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--smoothing", type=float, default=0.1)
    ap.add_argument("--epochs", type=int, default=15)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    x, y = corpus(1600, rng)
    xv, yv = corpus(400, rng)
    onehot = keras.utils.to_categorical
    m = build()
    m.compile(optimizer=keras.optimizers.Adam(4e-3),
              loss=keras.losses.CategoricalCrossentropy(label_smoothing=args.smoothing), metrics=["accuracy"])
    m.fit(x, onehot(y, 3), epochs=args.epochs, batch_size=32, validation_data=(xv, onehot(yv, 3)), verbose=2,
          callbacks=[keras.callbacks.EarlyStopping("val_loss", patience=4, restore_best_weights=True)])
    print("val", m.evaluate(xv, onehot(yv, 3), verbose=0))


if __name__ == "__main__":
    main()
