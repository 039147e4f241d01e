"""Read out the value of the marked event in a sequence, with attention pooling."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, ops

keras.utils.set_random_seed(3)


def make_events(n, length=30, feats=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, length, feats)).astype("float32")
    marker = np.zeros((n, length), "float32")
    where = rng.integers(0, length, n)
    marker[np.arange(n), where] = 1.0
    chosen = x[np.arange(n), where]
    y = chosen[:, 0] + 0.5 * chosen[:, 1] - 0.5 * chosen[:, 2]
    x = np.concatenate([x, marker[..., None]], axis=-1)
    return x, y.astype("float32")[:, None]


class AttentionPool(layers.Layer):
    """Weighted mean over time with learned weights."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.hidden = layers.Dense(units, activation="tanh")
        self.score = layers.Dense(1, use_bias=False)

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.score.build((*input_shape[:-1], self.hidden.units))
        super().build(input_shape)

    def call(self, x):
        s = self.score(self.hidden(x))
        e = ops.exp(s - ops.max(s, axis=-1, keepdims=True))
        a = e / ops.sum(e, axis=-1, keepdims=True)
        return ops.sum(a * x, axis=1)


def build(length=30, feats=7):
    inp = keras.Input((length, feats))
    h = layers.Dense(16)(inp)
    h = AttentionPool(16)(h)
    h = layers.LayerNormalization()(h)
    h = layers.Dense(32, activation="relu")(h)
    out = layers.Dense(1)(h)
    return keras.Model(inp, out)


if __name__ == "__main__":
    x_tr, y_tr = make_events(6000, seed=1)
    x_te, y_te = make_events(1000, seed=2)
    model = build()
    model.compile(keras.optimizers.Adam(3e-3), loss="mse")
    model.fit(x_tr, y_tr, validation_data=(x_te, y_te), batch_size=64, epochs=10, verbose=2)
    pred = model.predict(x_te, verbose=0)
    r2 = 1 - ((pred - y_te) ** 2).sum() / ((y_te - y_te.mean()) ** 2).sum()
    print(f"target variance {y_te.var():.3f}   test R2 {r2:.3f}")
