import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import keras
from keras import layers, ops, initializers

"""
Approximate an RBF-kernel machine by random Fourier features.
"""
keras.utils.set_random_seed(77)


class RandomFourier(layers.Layer):
    def __init__(self, dim, gamma, **kw):
        super().__init__(trainable=False, **kw)
        self.dim, self.gamma = dim, gamma

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.dim), trainable=False,
                                 initializer=initializers.RandomNormal(stddev=float(np.sqrt(2 * self.gamma))))
        self.b = self.add_weight(shape=(self.dim,), trainable=False,
                                 initializer=initializers.RandomUniform(0.0, 2 * np.pi))

    def call(self, x):
        return np.sqrt(2.0 / self.dim) * ops.cos(ops.matmul(x, self.w) + self.b)


rng = np.random.default_rng(77)
n = 4000
theta = rng.uniform(0.5, 3.2 * np.pi, n)
cls = rng.integers(0, 3, n)
r = theta / 10
pts = np.stack([r * np.cos(theta + cls * 2 * np.pi / 3), r * np.sin(theta + cls * 2 * np.pi / 3)], 1)
pts = (pts + rng.normal(0, 0.015, pts.shape)).astype("float32")
x_train, x_test, y_train, y_test = pts[:3000], pts[3000:], cls[:3000], cls[3000:]

model = keras.Sequential([
    keras.Input((2,)),
    RandomFourier(500, gamma=12.0),
    layers.Dense(3, kernel_initializer="zeros"),
])
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=5.0, momentum=0.9),
    loss=keras.losses.CategoricalHinge(),
    metrics=[keras.metrics.CategoricalAccuracy(name="acc")],
)
yt = np.eye(3, dtype="float32")
model.fit(x_train, yt[y_train], epochs=25, batch_size=64, verbose=2)
print(model.count_params(), "weights, of which trained:",
      sum(int(np.prod(w.shape)) for w in model.trainable_weights))
print("test:", model.evaluate(x_test, yt[y_test], verbose=0, return_dict=True))
