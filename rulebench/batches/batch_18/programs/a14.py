"""Knowledge distillation on digits: large teacher, small student."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import argparse
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


class DistillLoss(keras.losses.Loss):
    """y_true = [one-hot labels | teacher logits]"""

    def __init__(self, temperature, alpha, n=10):
        super().__init__()
        self.t, self.alpha, self.n = temperature, alpha, n

    def call(self, y_true, logits):
        hard, teacher = y_true[:, :self.n], y_true[:, self.n:]
        ce = -ops.sum(hard * ops.log_softmax(logits), axis=-1)
        p = ops.softmax(teacher / self.t)
        kl = ops.sum(p * (ops.log_softmax(teacher / self.t) - ops.log_softmax(logits / self.t)), axis=-1)
        return self.alpha * ce + (1 - self.alpha) * self.t ** 2 * kl


def accuracy(y_true, logits):
    return keras.metrics.categorical_accuracy(y_true[:, :10], logits)


def mlp(widths, drop=0.0):
    m = keras.Sequential([keras.Input((64,))])
    for w in widths:
        m.add(layers.Dense(w, activation="relu"))
        if drop:
            m.add(layers.Dropout(drop))
    m.add(layers.Dense(10))
    return m


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--temperature", type=float, default=4.0)
    ap.add_argument("--alpha", type=float, default=0.3)
    ap.add_argument("--epochs", type=int, default=15)
    args = ap.parse_args()
    keras.utils.set_random_seed(9)

    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype("float32")
    p = np.random.default_rng(9).permutation(len(X))
    X, y = X[p], y[p]
    X_tr, y_tr, X_te, y_te = X[:1300], y[:1300], X[1300:], y[1300:]

    teacher = mlp([256, 128], 0.3)
    teacher.compile(optimizer=keras.optimizers.Adam(1e-3),
                    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    teacher.fit(X_tr, y_tr, epochs=12, batch_size=64, validation_data=(X_te, y_te), verbose=2)
    t_tr, t_te = teacher.predict(X_tr, verbose=0), teacher.predict(X_te, verbose=0)

    targets = np.concatenate([np.eye(10, dtype="float32")[y_tr], t_tr], 1)
    val = np.concatenate([np.eye(10, dtype="float32")[y_te], t_te], 1)
    student = mlp([12])
    student.compile(optimizer=keras.optimizers.Adam(5e-3), loss=DistillLoss(args.temperature, args.alpha),
                    metrics=[accuracy])
    student.fit(X_tr, targets, epochs=args.epochs, batch_size=64, validation_data=(X_te, val), verbose=2)
    print("teacher %.3f student %.3f" % (
        np.mean(t_te.argmax(1) == y_te), np.mean(student.predict(X_te, verbose=0).argmax(1) == y_te)))


if __name__ == "__main__":
    main()
