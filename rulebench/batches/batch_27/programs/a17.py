import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import ops
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(31)

X, y = make_moons(4000, noise=0.2, random_state=31)
# two more coordinates that carry nothing
X = np.hstack([X, np.random.randn(len(X), 2) * 0.3]).astype("float32")
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.3, random_state=31)


class RandomFourier(keras.layers.Layer):
    """Rahimi & Recht 2007: cos(Wx + b) with W ~ N(0, 1/s^2) approximates a Gaussian kernel machine."""

    def __init__(self, dim, scale, **kw):
        super().__init__(**kw)
        self.dim, self.scale = dim, scale

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.dim), trainable=False,
                                 initializer=keras.initializers.RandomNormal(stddev=1 / self.scale))
        self.b = self.add_weight(shape=(self.dim,), trainable=False,
                                 initializer=keras.initializers.RandomUniform(0, 2 * np.pi))

    def call(self, x):
        return ops.cos(ops.matmul(x, self.w) + self.b) * (2.0 / self.dim) ** 0.5


model = keras.Sequential([
    keras.Input((4,)),
    RandomFourier(1500, 0.8),
    keras.layers.Dense(1, kernel_initializer="zeros", use_bias=False),
])
model.compile(optimizer=keras.optimizers.SGD(1.0, momentum=0.9), loss="hinge",
              metrics=[keras.metrics.BinaryAccuracy(threshold=0.0)])
model.summary()
model.fit(X_tr, y_tr, epochs=40, batch_size=64, verbose=2,
          validation_data=(X_te, y_te))
score = model.predict(X_te, verbose=0)[:, 0]
print("test accuracy", np.mean((score > 0) == (y_te == 1)))
