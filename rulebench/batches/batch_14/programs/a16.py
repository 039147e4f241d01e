"""Knowledge distillation on digits: big teacher, tiny student, Keras 3 with compute_loss."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def mlp(sizes, name):
    m = keras.Sequential([keras.Input((64,))], name=name)
    for s in sizes:
        m.add(layers.Dense(s, activation="relu"))
    m.add(layers.Dense(10))
    return m


class Distiller(keras.Model):
    def __init__(self, student, teacher, alpha, temperature):
        super().__init__()
        self.student, self.teacher = student, teacher
        self.teacher.trainable = False
        self.alpha, self.temperature = alpha, temperature

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = super().compute_loss(x, y, y_pred, sample_weight)
        if not training:
            return hard
        t = self.temperature
        p = ops.stop_gradient(ops.softmax(self.teacher(x, training=False) / t))
        logq = ops.log_softmax(y_pred / t)
        soft = -ops.mean(ops.sum(p * logq, axis=-1)) * t ** 2
        return self.alpha * hard + (1 - self.alpha) * soft


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--alpha", type=float, default=0.3)
    ap.add_argument("--temperature", type=float, default=3.0)
    ap.add_argument("--epochs", type=int, default=25)
    ap.add_argument("--n-student", type=int, default=600)
    args = ap.parse_args()
    keras.utils.set_random_seed(2)
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype("float32")
    Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, random_state=2)

    def compile_(m, lr=2e-3):
        m.compile(keras.optimizers.Adam(lr),
                  keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
        return m

    teacher = compile_(mlp([256, 128], "teacher"))
    teacher.fit(Xa, ya, epochs=15, batch_size=64, verbose=0)
    print("teacher acc", teacher.evaluate(Xb, yb, verbose=0)[1])

    xs, ys = Xa[:args.n_student], ya[:args.n_student]
    plain = compile_(mlp([10], "plain"), 5e-3)
    plain.fit(xs, ys, epochs=args.epochs, batch_size=32, verbose=0)

    dist = Distiller(mlp([10], "student"), teacher, args.alpha, args.temperature)
    compile_(dist, 5e-3)
    dist.fit(xs, ys, epochs=args.epochs, batch_size=32, verbose=2, validation_data=(Xb, yb))
    print("plain student acc", plain.evaluate(Xb, yb, verbose=0)[1])
    print("distilled student acc", np.mean(dist.student.predict(Xb, verbose=0).argmax(1) == yb))


if __name__ == "__main__":
    main()
