import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

"""Compression: a sparse student learns the teacher's soft answers on unlabelled, blended images.
Most weights of the student are held at zero by a magnitude constraint, from the first step on."""
keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=4, stratify=y)

teacher = keras.Sequential([keras.Input((64,)), layers.Dense(256, activation="relu"), layers.Dropout(0.3),
                            layers.Dense(256, activation="relu"), layers.Dropout(0.3), layers.Dense(10)])
teacher.compile(keras.optimizers.Adam(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
teacher.fit(X_tr, y_tr, batch_size=64, epochs=25, verbose=0)
print("teacher", teacher.evaluate(X_te, y_te, verbose=0)[1])


class KeepLargest(keras.constraints.Constraint):
    def __init__(self, keep):
        self.keep = keep

    def __call__(self, w):
        w = ops.convert_to_tensor(w)
        a = ops.abs(w)
        return ops.where(a >= ops.quantile(a, 1.0 - self.keep), w, ops.zeros_like(w))


TEMP = 3.0


def soft_kl(y_true, y_pred):
    q = ops.softmax(y_true / TEMP)
    return TEMP ** 2 * ops.sum(q * (ops.log_softmax(y_true / TEMP) - ops.log_softmax(y_pred / TEMP)), axis=-1)


student = keras.Sequential([keras.Input((64,)),
                            layers.Dense(64, activation="relu", kernel_constraint=KeepLargest(0.2)),
                            layers.Dense(10, kernel_constraint=KeepLargest(0.4))])
student.compile(keras.optimizers.Adam(3e-3), loss=soft_kl)


def blended(n):
    i, j = rng.integers(len(X_tr), size=(2, n))
    lam = rng.beta(0.3, 0.3, size=(n, 1)).astype("float32")
    return lam * X_tr[i] + (1 - lam) * X_tr[j]


for r in range(12):
    xb = blended(4096)
    h = student.fit(xb, teacher.predict(xb, verbose=0), batch_size=64, epochs=1, verbose=0)
    acc = (student.predict(X_te, verbose=0).argmax(1) == y_te).mean()
    print(f"round {r} kl {h.history['loss'][0]:.4f} test acc {acc:.4f}")
zero = [float((w == 0).mean()) for w in student.get_weights() if w.ndim == 2]
print("zeros per kernel", np.round(zero, 2), " student test accuracy %.4f" % acc)
