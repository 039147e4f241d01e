import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits


class Distiller(keras.Model):
    """Student learns from the labels and from the softened output of a fixed teacher."""

    def __init__(self, student, teacher, temperature=4.0, alpha=0.3):
        super().__init__()
        self.student, self.teacher = student, teacher
        self.temperature, self.alpha = temperature, alpha
        self.teacher.trainable = False
        self.hard = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.soft = keras.losses.KLDivergence()
        self.loss_m = keras.metrics.Mean(name="loss")
        self.acc_m = keras.metrics.SparseCategoricalAccuracy(name="acc")

    @property
    def metrics(self):
        return [self.loss_m, self.acc_m]

    def call(self, x, training=None):
        return self.student(x, training=training)

    def train_step(self, data):
        x, y = data
        t_prob = tf.nn.softmax(self.teacher(x, training=False) / self.temperature)
        with tf.GradientTape() as tape:
            logits = self.student(x, training=True)
            s_prob = tf.nn.softmax(logits / self.temperature)
            loss = (self.alpha * self.hard(y, logits)
                    + (1 - self.alpha) * self.temperature ** 2 * self.soft(t_prob, s_prob))
        variables = self.student.trainable_variables
        grads = tape.gradient(loss, variables)
        self.optimizer.apply_gradients(zip(grads, variables))
        self.loss_m.update_state(loss)
        self.acc_m.update_state(y, logits)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        x, y = data
        logits = self.student(x, training=False)
        self.loss_m.update_state(self.hard(y, logits))
        self.acc_m.update_state(y, logits)
        return {m.name: m.result() for m in self.metrics}


def make_teacher():
    return keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(24, 3, activation="relu"),
        layers.Conv2D(24, 3, activation="relu"), layers.Flatten(), layers.Dropout(0.4), layers.Dense(10)])


def make_student():
    return keras.Sequential([keras.Input((8, 8, 1)), layers.Flatten(),
                             layers.Dense(16, activation="relu"), layers.Dense(10)])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--teacher-epochs", type=int, default=12)
    p.add_argument("--student-epochs", type=int, default=25)
    a = p.parse_args()
    keras.utils.set_random_seed(17)
    x, y = load_digits(return_X_y=True)
    x = (x.reshape(-1, 8, 8, 1) / 16.0).astype("float32")
    p = np.random.permutation(len(x))
    x, y = x[p], y[p]
    xt, yt, xv, yv = x[:1300], y[:1300], x[1300:], y[1300:]

    teacher = make_teacher()
    teacher.compile(keras.optimizers.Adam(2e-3),
                    keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    teacher.fit(xt, yt, epochs=a.teacher_epochs, batch_size=64, verbose=2)
    print("teacher", teacher.evaluate(xv, yv, verbose=0)[1])

    dist = Distiller(make_student(), teacher)
    dist.compile(optimizer=keras.optimizers.Adam(3e-3))
    dist.fit(xt, yt, epochs=a.student_epochs, batch_size=32, validation_data=(xv, yv), verbose=2)
    pred = dist.predict(xv, verbose=0).argmax(1)
    print("student", (pred == yv).mean())


if __name__ == "__main__":
    main()
