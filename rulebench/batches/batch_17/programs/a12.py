import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers, ops

"""DeepSurv on simulated patients. The batch is the whole training set, sorted by time, since the
risk set of a patient is everybody who was observed at least as long."""


def simulate(n, rng):
    x = rng.normal(size=(n, 8)).astype("float32")
    risk = 0.9 * x[:, 0] - 0.7 * x[:, 1] + 0.6 * np.square(x[:, 2]) + 0.5 * x[:, 3] * x[:, 0]
    death = rng.exponential(np.exp(-risk))
    censor = rng.exponential(1.5, n)
    time = np.minimum(death, censor)
    event = (death <= censor).astype("float32")
    return x, time, event


def by_time(x, time, event):
    o = np.argsort(-time)
    return x[o], time[o], event[o]


def cox_loss(event, log_risk):
    """rows come in order of falling time: the risk set of row i is rows 0..i"""
    event = ops.reshape(event, (-1,))
    log_risk = ops.reshape(log_risk, (-1,))
    m = ops.max(log_risk)
    log_cum = ops.log(ops.cumsum(ops.exp(log_risk - m))) + m
    return -ops.sum((log_risk - log_cum) * event) / ops.maximum(ops.sum(event), 1.0)


def concordance(time, event, risk):
    good = total = 0.0
    for i in np.flatnonzero(event):
        later = time > time[i]
        good += (risk[i] > risk[later]).sum() + 0.5 * (risk[i] == risk[later]).sum()
        total += later.sum()
    return good / total


class CIndex(keras.callbacks.Callback):
    def __init__(self, x, time, event, every=30):
        super().__init__()
        self.d, self.every = (x, time, event), every

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % self.every == 0:
            x, t, e = self.d
            r = self.model.predict(x, verbose=0, batch_size=len(x)).ravel()
            print(f"epoch {epoch + 1:4d} loss {logs['loss']:.4f} val_loss {logs['val_loss']:.4f} "
                  f"val c-index {concordance(t, e, r):.3f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=240)
    p.add_argument("--lr", type=float, default=3e-3)
    a = p.parse_args()
    keras.utils.set_random_seed(6)
    rng = np.random.default_rng(6)
    x, t, e = by_time(*simulate(1200, rng))
    xv, tv, ev = by_time(*simulate(400, rng))
    print("censored: %.2f" % (1 - e.mean()))

    model = keras.Sequential([
        keras.Input((8,)),
        layers.Dense(32, activation="selu", kernel_initializer="lecun_normal"),
        layers.AlphaDropout(0.1),
        layers.Dense(16, activation="selu", kernel_initializer="lecun_normal"),
        layers.Dense(1, use_bias=False),
    ])
    model.compile(keras.optimizers.AdamW(a.lr, weight_decay=0.02), loss=cox_loss)
    model.fit(x, e, batch_size=len(x), shuffle=False, epochs=a.epochs, verbose=0,
              validation_data=(xv, ev), validation_batch_size=len(xv), callbacks=[CIndex(xv, tv, ev)])
    print("train c-index %.3f" % concordance(t, e, model.predict(x, verbose=0).ravel()))


if __name__ == "__main__":
    main()
