import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import torch
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Distiller(keras.Model):
    """Trains a small student to follow a fitted teacher."""

    def __init__(self, student, teacher, alpha=0.1, temperature=3.0):
        super().__init__()
        self.student = student
        self.teacher = teacher
        self.teacher.trainable = False
        self.alpha = alpha
        self.temperature = temperature
        self.kl = keras.losses.KLDivergence()

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
        teacher_logits = self.teacher(x, training=False)
        t = self.temperature
        soft = self.kl(
            ops.softmax(teacher_logits / t),
            y_pred / t,
        ) * t ** 2
        return self.alpha * hard + (1 - self.alpha) * soft

    def call(self, x, training=False):
        return self.student(x, training=training)


def make_teacher():
    return keras.Sequential([
        layers.Input((64,)),
        layers.Dense(256, activation="relu"),
        layers.Dense(128, activation="relu"),
        layers.Dense(10),
    ], name="teacher")


def make_student(width):
    return keras.Sequential([
        layers.Input((64,)),
        layers.Dense(width, activation="relu"),
        layers.Dense(10),
    ], name="student")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--alpha", type=float, default=0.05)
    p.add_argument("--temperature", type=float, default=3.0)
    args = p.parse_args()

    keras.utils.set_random_seed(0)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype("float32")
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, random_state=0)

    teacher = make_teacher()
    teacher.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    teacher.fit(x_train, y_train, epochs=10, batch_size=32, verbose=0)
    print("teacher", teacher.evaluate(x_test, y_test, verbose=0))

    model = Distiller(make_student(args.width), teacher, args.alpha, args.temperature)
    model.compile(optimizer=keras.optimizers.Adam(2e-3), metrics=["accuracy"])
    model.fit(x_train, y_train, epochs=args.epochs, batch_size=32,
              validation_data=(x_test, y_test), verbose=2)
    pred = model.predict(x_test, verbose=0).argmax(1)
    tea = teacher.predict(x_test, verbose=0).argmax(1)
    print("student accuracy", (pred == y_test).mean(), "agreement with teacher", (pred == tea).mean())


if __name__ == "__main__":
    main()
