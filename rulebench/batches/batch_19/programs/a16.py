import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(6)

# Kernel machine by random Fourier features (Rahimi & Recht): the projection
# stays as drawn, a linear classifier is fitted on top with plain SGD.


class RandomFourier(layers.Layer):
    def __init__(self, units, gamma, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.gamma = gamma

    def build(self, shape):
        std = float(np.sqrt(2 * self.gamma))
        self.omega = self.add_weight(
            shape=(shape[-1], self.units),
            initializer=keras.initializers.RandomNormal(stddev=std),
            trainable=False,
            name="omega",
        )
        self.phase = self.add_weight(
            shape=(self.units,),
            initializer=keras.initializers.RandomUniform(0.0, 2 * np.pi),
            trainable=False,
            name="phase",
        )

    def call(self, x):
        return ops.cos(ops.matmul(x, self.omega) + self.phase) * (2.0 / self.units) ** 0.5


X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
x_tr, x_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=2)

model = keras.Sequential(
    [
        keras.Input((64,)),
        RandomFourier(1024, gamma=0.08),
        layers.Dense(10, kernel_initializer="zeros"),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=8.0),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.summary()
model.fit(x_tr, y_tr, validation_data=(x_te, y_te), epochs=12, batch_size=64, verbose=2)
loss, acc = model.evaluate(x_te, y_te, verbose=0)
print(f"test loss {loss:.4f}  accuracy {acc:.4f}")
print("trainable:", model.count_params() - sum(int(np.prod(v.shape)) for v in model.non_trainable_variables))
