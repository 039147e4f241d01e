"""Random Fourier features in Keras.

The hidden layer is drawn once (frequencies ~ N(0, gamma), phases ~ U(0, 2 pi)) and never
trained; with the linear read-out on top the model approximates a kernel machine with
Gaussian kernel (Rahimi & Recht 2007).
"""
import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import layers, ops
from sklearn.model_selection import train_test_split

SEED = 17
keras.utils.set_random_seed(SEED)


class RandomFourier(layers.Layer):
    def __init__(self, dim, gamma, **kw):
        super().__init__(trainable=False, **kw)
        self.dim, self.gamma = dim, gamma

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.dim), trainable=False,
                                 initializer=keras.initializers.RandomNormal(0.0, self.gamma))
        self.b = self.add_weight(shape=(self.dim,), trainable=False,
                                 initializer=keras.initializers.RandomUniform(0.0, 2 * np.pi))

    def call(self, x):
        return ops.cos(ops.matmul(x, self.w) + self.b) * np.sqrt(2.0 / self.dim)


def spirals(n, rng):
    c = rng.integers(0, 2, n)
    r = rng.uniform(0.1, 1, n)
    a = 9 * r + np.pi * c
    x = np.stack([r * np.cos(a), r * np.sin(a)], 1) + 0.04 * rng.standard_normal((n, 2))
    return x.astype("float32"), np.where(c == 1, 1.0, -1.0).astype("float32")[:, None]


X, y = spirals(4000, np.random.default_rng(SEED))
Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.25, random_state=SEED)

net = keras.Sequential([
    keras.Input((2,)),
    RandomFourier(1500, gamma=6.0),
    layers.Dense(1, kernel_initializer="zeros", kernel_regularizer=keras.regularizers.L2(1e-5)),
])
net.summary()


def sign_accuracy(t, p):
    return ops.mean(ops.cast(ops.sign(t) == ops.sign(p), "float32"))


# targets are -1/+1, so the hinge is used
net.compile(keras.optimizers.SGD(2.0, momentum=0.9), loss="hinge", metrics=[sign_accuracy])
net.fit(Xa, ya, batch_size=64, epochs=30, validation_data=(Xb, yb), verbose=2)
p = net.predict(Xb, verbose=0)
print("held-out accuracy:", round(float((np.sign(p) == yb).mean()), 4))
