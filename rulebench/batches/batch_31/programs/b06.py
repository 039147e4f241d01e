"""Compress an MLP into a far smaller one by knowledge distillation (Hinton et al. 2015).
The student sees softened teacher outputs; most of its training examples carry no label at all."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 5
keras.utils.set_random_seed(SEED)
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
xtr, xte, ytr, yte = train_test_split(x, y, test_size=0.3, random_state=SEED, stratify=y)

teacher = keras.Sequential([keras.Input((64,)), layers.Dense(256, "relu"), layers.Dropout(0.4),
                            layers.Dense(256, "relu"), layers.Dropout(0.4), layers.Dense(10)])
teacher.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
teacher.fit(xtr, ytr, epochs=25, batch_size=64, verbose=0)
print("teacher test acc", teacher.evaluate(xte, yte, verbose=0)[1])
teacher.trainable = False

# label -1 means "unlabelled, listen to the teacher only"
y_student = ytr.copy()
hidden = np.random.permutation(len(ytr))[: int(0.9 * len(ytr))]
y_student[hidden] = -1


class Distiller(keras.Model):
    def __init__(self, student, teacher, T=4.0, alpha=0.1):
        super().__init__()
        self.student, self.teacher, self.T, self.alpha = student, teacher, T, alpha
        self.hard_tracker = keras.metrics.Mean(name="hard")
        self.soft_tracker = keras.metrics.Mean(name="soft")

    @property
    def metrics(self):
        return [self.hard_tracker, self.soft_tracker]

    def call(self, x, training=False):
        return self.student(x, training=training)

    def train_step(self, data):
        x, y = data
        soft_targets = tf.nn.softmax(self.teacher(x, training=False) / self.T)
        with tf.GradientTape() as tape:
            logits = self.student(x, training=True)
            has = tf.cast(y >= 0, tf.float32)
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(y, 0), logits)
            hard = tf.reduce_sum(ce * has) / tf.maximum(tf.reduce_sum(has), 1.0)
            soft = tf.reduce_mean(tf.reduce_sum(
                soft_targets * (tf.math.log(soft_targets + 1e-9) - tf.nn.log_softmax(logits / self.T)), 1)) * self.T ** 2
            loss = self.alpha * hard + (1 - self.alpha) * soft
        g = tape.gradient(loss, self.student.trainable_variables)
        self.optimizer.apply_gradients(zip(g, self.student.trainable_variables))
        self.hard_tracker.update_state(hard)
        self.soft_tracker.update_state(soft)
        return {m.name: m.result() for m in self.metrics}


student = keras.Sequential([keras.Input((64,)), layers.Dense(20, "relu"), layers.Dense(10)])
dist = Distiller(student, teacher)
dist.compile(optimizer=keras.optimizers.Adam(3e-3))
dist.fit(xtr, y_student.astype("int32"), epochs=40, batch_size=64, verbose=2)
acc = (student.predict(xte, verbose=0).argmax(1) == yte).mean()
print(f"student ({student.count_params()} parameters, 10% labels): test acc {acc:.4f}; teacher has {teacher.count_params()}")
