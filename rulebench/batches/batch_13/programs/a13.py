"""Distil a big digits classifier into a tiny one, using unlabelled pictures."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def load(seed):
    d = load_digits()
    x = (d.data / 16.0).astype("float32")
    x_tr, x_te, y_tr, y_te = train_test_split(x, d.target, test_size=0.3,
                                              stratify=d.target, random_state=seed)
    return x_tr, y_tr, x_te, y_te


def build_mlp(widths, name, dropout=0.0):
    inp = keras.Input((64,))
    h = inp
    for w in widths:
        h = layers.Dense(w, activation="relu")(h)
        if dropout:
            h = layers.Dropout(dropout)(h)
    return keras.Model(inp, layers.Dense(10)(h), name=name)


class Distiller(keras.Model):
    def __init__(self, student, teacher, temperature, alpha):
        super().__init__()
        self.student = student
        self.teacher = teacher
        self.teacher.trainable = False
        self.temperature = temperature
        self.alpha = alpha

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        t = self.temperature
        soft_t = ops.softmax(self.teacher(x, training=False) / t, axis=-1)
        log_s = ops.log_softmax(y_pred / t, axis=-1)
        soft = -ops.mean(ops.sum(soft_t * log_s, axis=-1)) * t ** 2
        hard = ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
        return self.alpha * hard + (1.0 - self.alpha) * soft


def train_teacher(x, y, epochs):
    teacher = build_mlp([256, 128], "teacher", dropout=0.2)
    teacher.compile(optimizer=keras.optimizers.Adam(1e-3),
                    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                    metrics=["accuracy"])
    teacher.fit(x, y, epochs=epochs, batch_size=32, verbose=2)
    return teacher


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--teacher-epochs", type=int, default=10)
    ap.add_argument("--student-epochs", type=int, default=15)
    ap.add_argument("--temperature", type=float, default=3.0)
    ap.add_argument("--alpha", type=float, default=0.05)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    keras.utils.set_random_seed(args.seed)

    x_tr, y_tr, x_te, y_te = load(args.seed)
    teacher = train_teacher(x_tr, y_tr, args.teacher_epochs)
    print("teacher test", teacher.evaluate(x_te, y_te, verbose=0))

    # keep the original trainable, distil from a copy
    frozen = keras.models.clone_model(teacher)
    student = build_mlp([12], "student")
    distiller = Distiller(student, frozen, args.temperature, args.alpha)
    distiller.compile(optimizer=keras.optimizers.Adam(3e-3), metrics=["accuracy"])
    distiller.fit(x_tr, y_tr, epochs=args.student_epochs, batch_size=32, verbose=2)

    pred = np.asarray(student.predict(x_te, verbose=0))
    prob = np.exp(pred) / np.exp(pred).sum(1, keepdims=True)
    print("student test accuracy", (pred.argmax(1) == y_te).mean())
    print("student test log loss", -np.log(prob[np.arange(len(y_te)), y_te] + 1e-9).mean())


if __name__ == "__main__":
    main()
