import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(33)

TEMPERATURE = 4.0


class Distiller(keras.Model):
    """A student that learns from the labels and from a fixed teacher."""

    def __init__(self, student, teacher, alpha=0.3):
        super().__init__()
        self.student = student
        self.teacher = teacher
        self.teacher.trainable = False
        self.alpha = alpha

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
        teacher_logits = ops.stop_gradient(self.teacher(x, training=False))
        p = ops.softmax(teacher_logits / TEMPERATURE, axis=-1)
        log_p = ops.log_softmax(teacher_logits / TEMPERATURE, axis=-1)
        log_q = ops.log_softmax(y_pred / TEMPERATURE, axis=-1)
        soft = ops.mean(ops.sum(p * (log_p - log_q), axis=-1)) * TEMPERATURE ** 2
        return self.alpha * hard + (1 - self.alpha) * soft


def mlp(width, depth, dropout=0.0):
    stack = [keras.Input((64,))]
    for _ in range(depth):
        stack.append(layers.Dense(width, activation="relu"))
        if dropout:
            stack.append(layers.Dropout(dropout))
    stack.append(layers.Dense(10))
    return keras.Sequential(stack)


x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, random_state=33, stratify=y)

teacher = mlp(128, 2, dropout=0.3)
teacher.compile(
    keras.optimizers.Adam(2e-3),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
teacher.fit(x_train, y_train, epochs=20, batch_size=64, verbose=0)
print("teacher", teacher.evaluate(x_test, y_test, verbose=0, return_dict=True))

student = mlp(16, 1)
distiller = Distiller(student, teacher)
distiller.compile(keras.optimizers.Adam(5e-3), metrics=["sparse_categorical_accuracy"])
distiller.fit(x_train, y_train, epochs=25, batch_size=64, verbose=2)

logits = student.predict(x_test, verbose=0)
print("student accuracy", round(float((logits.argmax(1) == y_test).mean()), 4),
      "with", student.count_params(), "parameters; teacher has", teacher.count_params())
