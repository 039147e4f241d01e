"""DeepSurv-style Cox model on simulated survival data."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import argparse
import numpy as np
import keras
from keras import layers, ops


def simulate(n, rng):
    x = rng.normal(size=(n, 8)).astype("float32")
    risk = 0.9 * x[:, 0] - 0.7 * x[:, 1] + 0.6 * x[:, 2] * x[:, 3] + 0.4 * np.square(x[:, 4])
    t = rng.exponential(np.exp(-risk) * 8)
    c = rng.exponential(12, n)
    return x, np.minimum(t, c).astype("float32"), (t <= c).astype("float32")


def neg_log_partial_likelihood(y_true, scores):
    """y_true holds (time, event) per row."""
    time, event = y_true[:, 0], y_true[:, 1]
    scores = ops.reshape(scores, (-1,))
    order = ops.argsort(time)
    scores = ops.take(scores, order)
    event = ops.take(event, order)
    top = ops.max(scores)
    log_risk = ops.log(ops.cumsum(ops.exp(scores - top)) + 1e-8) + top
    return -ops.sum((scores - log_risk) * event) / (ops.sum(event) + 1e-8)


def concordance(time, event, score):
    num = den = 0.0
    for i in np.flatnonzero(event):
        later = time > time[i]
        den += later.sum()
        num += (score[i] > score[later]).sum() + 0.5 * (score[i] == score[later]).sum()
    return num / den


class CIndex(keras.callbacks.Callback):
    def __init__(self, x, time, event, every=5):
        super().__init__()
        self.data = x, time, event
        self.every = every

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.every == 0:
            x, time, event = self.data
            s = self.model.predict(x, verbose=0)[:, 0]
            print(f"  epoch {epoch + 1}: validation c-index {concordance(time, event, s):.3f}")


def build(width):
    inp = keras.Input((8,))
    h = layers.Dense(width, activation="relu")(inp)
    h = layers.Dropout(0.1)(h)
    h = layers.Dense(width, activation="relu")(h)
    return keras.Model(inp, layers.Dense(1, use_bias=False)(h))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()
    keras.utils.set_random_seed(6)
    rng = np.random.default_rng(6)

    x, time, event = simulate(2400, rng)
    n = 1800
    y = np.stack([time, event], axis=1)
    print("share of observed events %.2f" % event.mean())

    model = build(32)
    model.compile(optimizer=keras.optimizers.Adam(args.lr), loss=neg_log_partial_likelihood)
    model.fit(x[:n], y[:n], epochs=args.epochs, batch_size=args.batch_size,
              validation_data=(x[n:], y[n:]),
              callbacks=[CIndex(x[n:], time[n:], event[n:])], verbose=2)

    s = model.predict(x[n:], verbose=0)[:, 0]
    print("held-out c-index %.3f" % concordance(time[n:], event[n:], s))


if __name__ == "__main__":
    main()
