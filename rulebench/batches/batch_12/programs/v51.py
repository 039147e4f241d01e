import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

# random kitchen sinks
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
x = rng.uniform(-3, 3, (2000, 2)).astype("float32")
y = (np.sin(2 * x[:, 0]) * np.cos(x[:, 1]) + 0.05 * rng.normal(size=2000)).astype("float32")


class RandomFourier(layers.Layer):
    def __init__(self, m, gamma, **kw):
        super().__init__(**kw)
        self.m, self.gamma = m, gamma

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.m), trainable=False,
                                 initializer=keras.initializers.RandomNormal(stddev=self.gamma))
        self.b = self.add_weight(shape=(self.m,), trainable=False,
                                 initializer=keras.initializers.RandomUniform(0, 6.2832))

    def call(self, x):
        return keras.ops.cos(x @ self.w + self.b) * (2.0 / self.m) ** 0.5


model = keras.Sequential([layers.Input((2,)), RandomFourier(300, 1.5), layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(0.5, momentum=0.9), loss="mse")
model.fit(x[:1600], y[:1600, None], epochs=30, batch_size=64, validation_data=(x[1600:], y[1600:, None]), verbose=2)
print("R2", 1 - model.evaluate(x[1600:], y[1600:, None], verbose=0) / y[1600:].var())
print("trainable", len(model.trainable_weights), "fixed", len(model.non_trainable_weights))
