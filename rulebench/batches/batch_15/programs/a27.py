"""Distillation without labels: a small student learns from a big teacher on unlabelled data."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

N_CLASSES = 6


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--temperature", type=float, default=3.0)
    ap.add_argument("--teacher-epochs", type=int, default=15)
    ap.add_argument("--student-epochs", type=int, default=15)
    ap.add_argument("--seed", type=int, default=21)
    return ap.parse_args()


def make_data(seed):
    x, y = make_classification(
        n_samples=5000, n_features=20, n_informative=12, n_classes=N_CLASSES,
        n_clusters_per_class=2, class_sep=1.6, random_state=seed)
    x = x.astype("float32")
    x_lab, x_rest, y_lab, y_rest = train_test_split(x, y, train_size=2000, random_state=seed)
    x_unlab, x_test, _, y_test = train_test_split(x_rest, y_rest, train_size=2200, random_state=seed)
    mu, sd = x_lab.mean(0), x_lab.std(0)
    return [(a - mu) / sd for a in (x_lab, x_unlab, x_test)], y_lab, y_test


def build_teacher():
    return keras.Sequential([
        layers.Input((20,)),
        layers.Dense(256, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(128, activation="relu"),
        layers.Dense(N_CLASSES),
    ], name="teacher")


def build_student():
    return keras.Sequential([
        layers.Input((20,)),
        layers.Dense(40, activation="relu"),
        layers.Dense(N_CLASSES),
    ], name="student")


class Distiller(keras.Model):
    def __init__(self, student, teacher, temperature):
        super().__init__()
        self.student = student
        self.teacher = keras.models.clone_model(teacher)
        self.teacher.trainable = False
        self.temperature = temperature

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        soft_targets = ops.stop_gradient(
            ops.softmax(self.teacher(x, training=False) / self.temperature))
        log_student = ops.log_softmax(y_pred / self.temperature)
        ce = -ops.sum(soft_targets * log_student, axis=-1)
        return ops.mean(ce) * self.temperature ** 2


def main():
    args = parse()
    keras.utils.set_random_seed(args.seed)
    (x_lab, x_unlab, x_test), y_lab, y_test = make_data(args.seed)

    teacher = build_teacher()
    teacher.compile(keras.optimizers.Adam(1e-3),
                    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                    metrics=["accuracy"])
    teacher.fit(x_lab, y_lab, epochs=args.teacher_epochs, batch_size=64, verbose=0)
    print("teacher test acc %.4f" % teacher.evaluate(x_test, y_test, verbose=0)[1])

    distiller = Distiller(build_student(), teacher, args.temperature)
    distiller.compile(optimizer=keras.optimizers.Adam(2e-3))
    hist = distiller.fit(x_unlab, np.zeros(len(x_unlab)), epochs=args.student_epochs,
                         batch_size=64, verbose=2)

    pred = distiller.predict(x_test, verbose=0).argmax(-1)
    print("student test acc %.4f" % (pred == y_test).mean())


if __name__ == "__main__":
    main()
