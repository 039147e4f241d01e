import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# Compressing a wide digit classifier into a very small one.
# The small one never sees a label: it copies the wide one on noisy mixtures of images.
SEED = 10
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)
x, y = load_digits(return_X_y=True)
x = (x / 16.0).astype("float32")
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, random_state=SEED, stratify=y)

teacher = keras.Sequential([keras.Input((64,)), layers.Dense(256, activation="relu"), layers.Dropout(0.3),
                            layers.Dense(256, activation="relu"), layers.Dense(10)], name="teacher")
teacher.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
teacher.fit(x_tr, y_tr, epochs=25, batch_size=64, verbose=0)
print("teacher test accuracy %.4f with %d parameters" % (teacher.evaluate(x_te, y_te, verbose=0)[1], teacher.count_params()))
teacher.trainable = False

TEMP = 4.0


class Copycat(keras.Model):
    def __init__(self, student, teacher):
        super().__init__()
        self.student, self.teacher = student, teacher

    def call(self, inputs, training=None):
        return self.student(inputs, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        soft = ops.softmax(self.teacher(x, training=False) / TEMP)
        logq = ops.log_softmax(y_pred / TEMP)
        return TEMP ** 2 * ops.mean(ops.sum(soft * (ops.log(soft + 1e-9) - logq), axis=-1))


n = 12000
i, j = rng.integers(0, len(x_tr), (2, n))
lam = rng.beta(0.4, 0.4, (n, 1))
mixed = (lam * x_tr[i] + (1 - lam) * x_tr[j] + rng.normal(0, 0.05, (n, 64))).astype("float32")

student = keras.Sequential([keras.Input((64,)), layers.Dense(20, activation="relu"), layers.Dense(10)], name="student")
model = Copycat(student, teacher)
model.compile(optimizer=keras.optimizers.Adam(4e-3))
model.fit(mixed, np.zeros(n), epochs=20, batch_size=128, verbose=2)
acc = (student.predict(x_te, verbose=0).argmax(1) == y_te).mean()
print("student test accuracy %.4f with %d parameters" % (acc, student.count_params()))
