import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(14)
X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, random_state=14, stratify=y)

teacher = keras.Sequential([layers.Input((64,)), layers.Dense(128, "relu"), layers.Dense(128, "relu"), layers.Dense(10)])
teacher.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
teacher.fit(Xtr, ytr, epochs=12, batch_size=64, verbose=0)
print("teacher", teacher.evaluate(Xte, yte, verbose=0))
teacher.trainable = False


class Distiller(keras.Model):
    def __init__(self, student, teacher, T=4.0, a=0.3):
        super().__init__()
        self.student, self.teacher, self.T, self.a = student, teacher, T, a
        self.ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        t = ops.stop_gradient(ops.softmax(self.teacher(x, training=False) / self.T))
        s = ops.log_softmax(y_pred / self.T)
        kd = -ops.mean(ops.sum(t * s, axis=-1)) * self.T ** 2
        return self.a * self.ce(y, y_pred) + (1 - self.a) * kd


student = keras.Sequential([layers.Input((64,)), layers.Dense(16, "relu"), layers.Dense(10)])
d = Distiller(student, teacher)
d.compile(optimizer=keras.optimizers.Adam(4e-3), metrics=["accuracy"])
d.fit(Xtr, ytr, epochs=18, batch_size=64, verbose=2)
acc = (student.predict(Xte, verbose=0).argmax(1) == yte).mean()
print("student test accuracy %.4f" % acc)
