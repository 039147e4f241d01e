"""Truncated back-propagation over long sensor streams with a stateful recurrent layer.

16 machines are recorded in parallel; batch row i is always machine i, and consecutive batches are
consecutive pieces of the same recordings. Which alarm button was pressed last decides the label,
and presses are rare (one in about 60 steps), while a piece is only 20 steps long.
"""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers

SEED = 3
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
B, T, PIECES = 16, 20, 100


def stream(pieces):
    n = pieces * T
    press = rng.random((B, n)) < 1 / 60
    kind = rng.integers(0, 2, (B, n))
    x = np.zeros((B, n, 3), "float32")
    x[..., 0] = press & (kind == 0)
    x[..., 1] = press & (kind == 1)
    x[..., 2] = rng.normal(0, 0.3, (B, n))
    y = np.zeros((B, n, 1), "float32")
    cur = np.zeros(B)
    for t in range(n):
        cur = np.where(press[:, t], kind[:, t], cur)
        y[:, t, 0] = cur
    # (B, pieces*T) -> pieces batches one after the other
    cut = lambda a: a.reshape(B, pieces, T, -1).swapaxes(0, 1).reshape(pieces * B, T, -1)
    return cut(x), cut(y)


x, y = stream(PIECES)
x_test, y_test = stream(30)

inp = keras.Input(batch_shape=(B, T, 3))
rnn = layers.GRU(16, return_sequences=True, stateful=True)
h = rnn(inp)
out = layers.Dense(1, activation="sigmoid")(h)
model = keras.Model(inp, out)
model.compile(keras.optimizers.Adam(1e-2, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])

for epoch in range(16):
    rnn.reset_states()
    h = model.fit(x, y, batch_size=B, epochs=1, shuffle=False, verbose=0)
    if epoch % 2 == 0:
        print("epoch", epoch, {k: round(v[0], 4) for k, v in h.history.items()})

rnn.reset_states()
loss, acc = model.evaluate(x_test, y_test, batch_size=B, verbose=0)
print("new recordings: loss %.4f accuracy %.4f" % (loss, acc))
