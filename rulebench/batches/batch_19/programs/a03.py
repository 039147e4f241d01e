import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
import keras
from keras import layers

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)


# Factorization machine for click prediction: users x items x context
N_USERS, N_ITEMS, N_CTX, RANK = 60, 40, 6, 4
u_true = rng.normal(size=(N_USERS, RANK))
i_true = rng.normal(size=(N_ITEMS, RANK))
c_true = rng.normal(size=N_CTX)


def sample(n):
    u = rng.integers(0, N_USERS, n)
    i = rng.integers(0, N_ITEMS, n)
    c = rng.integers(0, N_CTX, n)
    score = 1.2 * (u_true[u] * i_true[i]).sum(-1) + c_true[c]
    y = (rng.random(n) < 1 / (1 + np.exp(-score))).astype("float32")
    feats = np.stack([u, N_USERS + i, N_USERS + N_ITEMS + c], axis=1).astype("int32")
    return feats, y


x_train, y_train = sample(12000)
x_test, y_test = sample(3000)


class FactorizationMachine(layers.Layer):
    def __init__(self, n_features, rank, **kwargs):
        super().__init__(**kwargs)
        self.n_features = n_features
        self.rank = rank

    def build(self, input_shape):
        self.bias = self.add_weight(shape=(1,), initializer="zeros", name="bias")
        self.linear = self.add_weight(shape=(self.n_features, 1), initializer="zeros", name="linear")
        self.factors = tf.Variable(
            tf.random.normal((self.n_features, self.rank), stddev=0.1), name="factors"
        )

    def call(self, x):
        lin = tf.reduce_sum(tf.gather(self.linear, x), axis=1)
        v = tf.gather(self.factors, x)
        sum_sq = tf.square(tf.reduce_sum(v, axis=1))
        sq_sum = tf.reduce_sum(tf.square(v), axis=1)
        inter = 0.5 * tf.reduce_sum(sum_sq - sq_sum, axis=-1, keepdims=True)
        return tf.sigmoid(self.bias + lin + inter)


inp = keras.Input((3,), dtype="int32")
out = FactorizationMachine(N_USERS + N_ITEMS + N_CTX, 8)(inp)
model = keras.Model(inp, out)
model.compile(
    optimizer=keras.optimizers.Adam(5e-3),
    loss="binary_crossentropy",
    metrics=[keras.metrics.AUC(name="auc")],
)
model.fit(x_train, y_train, epochs=8, batch_size=128, validation_split=0.1, verbose=2)
print("test:", model.evaluate(x_test, y_test, verbose=0, return_dict=True))
