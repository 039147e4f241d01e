import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


def mlp(width, name):
    return keras.Sequential([layers.Input((64,)), layers.Dense(width, activation="relu"),
                             layers.Dense(width, activation="relu"), layers.Dense(10)], name=name)


class Distiller(keras.Model):
    def __init__(self, student, teacher, alpha, T):
        super().__init__()
        self.student, self.teacher = student, teacher
        self.teacher.trainable = False
        self.alpha, self.T = alpha, T

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
        t_prob = ops.softmax(self.teacher(x, training=False) / self.T, axis=0)
        s_logp = ops.log_softmax(y_pred / self.T, axis=1)
        soft = -ops.mean(ops.sum(t_prob * s_logp, axis=1)) * self.T ** 2
        return self.alpha * hard + (1 - self.alpha) * soft


def load(n_labelled):
    x, y = load_digits(return_X_y=True)
    x = (x / 16).astype("float32")
    r = np.random.default_rng(0).permutation(len(x))
    x, y = x[r], y[r]
    return (x[:1200], y[:1200]), (x[1200:], y[1200:])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--alpha", type=float, default=0.5)
    p.add_argument("--temperature", type=float, default=2.0)
    a = p.parse_args()
    keras.utils.set_random_seed(0)
    (xtr, ytr), (xte, yte) = load(1200)
    # the student sees labels with noise, the teacher was trained on clean ones
    rng = np.random.default_rng(1)
    noisy = np.where(rng.uniform(size=len(ytr)) < 0.45, (ytr + 1) % 10, ytr)

    teacher = mlp(128, "teacher")
    teacher.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    teacher.fit(xtr, ytr, epochs=15, batch_size=32, verbose=0)
    print("teacher", teacher.evaluate(xte, yte, verbose=0))

    student = mlp(48, "student")
    d = Distiller(student, teacher, a.alpha, a.temperature)
    d.compile(optimizer=keras.optimizers.Adam(5e-3), metrics=["accuracy"])
    d.fit(xtr, noisy, epochs=60, batch_size=128, verbose=2)
    pred = student.predict(xte, verbose=0).argmax(1)
    print("student accuracy", (pred == yte).mean())


if __name__ == "__main__":
    main()
