"""Knowledge distillation: a wide teacher, a narrow student, Keras on JAX."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(9)
TEMPERATURE = 4.0
ALPHA = 0.3

d = load_digits()
x = (d.data / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(x, d.target, test_size=0.25, random_state=9)
sparse_ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

teacher = keras.Sequential([
    keras.Input((64,)),
    layers.Dense(128, activation="relu"),
    layers.Dropout(0.4),
    layers.Dense(128, activation="relu"),
    layers.Dropout(0.4),
    layers.Dense(10),
], name="teacher")
teacher.compile("adam", sparse_ce, metrics=["accuracy"])
teacher.fit(x_train, y_train, epochs=12, batch_size=64, verbose=2)
print("teacher test accuracy %.4f" % teacher.evaluate(x_test, y_test, verbose=0)[1])


class Distiller(keras.Model):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher = teacher
        self.student = student
        self.teacher.trainable = False

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        soft_target = ops.softmax(
            ops.stop_gradient(self.teacher(x, training=False)) / TEMPERATURE
        )
        soft = keras.losses.categorical_crossentropy(
            soft_target, y_pred / TEMPERATURE, from_logits=True
        )
        hard = sparse_ce(y, y_pred)
        return ALPHA * hard + (1 - ALPHA) * TEMPERATURE**2 * ops.mean(soft)


student = keras.Sequential([
    keras.Input((64,)), layers.Dense(16, activation="relu"), layers.Dense(10)
], name="student")
distiller = Distiller(teacher, student)
distiller.compile(optimizer=keras.optimizers.Adam(4e-3), metrics=["accuracy"])
distiller.fit(x_train, y_train, epochs=20, batch_size=64, verbose=2)

pred = student.predict(x_test, verbose=0).argmax(-1)
print("student test accuracy %.4f" % np.mean(pred == y_test))
print("parameters: teacher %d, student %d" % (teacher.count_params(), student.count_params()))
