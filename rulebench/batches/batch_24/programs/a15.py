"""Extreme-learning-machine style classifier: random hidden features, trained readout."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(31)

HIDDEN = 800
LEARNING_RATE = 8.0
EPOCHS = 25

X, y = load_digits(return_X_y=True)
X = (X - 8.0) / 8.0
X_train, X_test, y_train, y_test = train_test_split(X.astype("float32"), y, test_size=0.3,
                                                    random_state=1, stratify=y)


class RandomFeatures(layers.Layer):
    """cos(Wx + b) with W, b drawn once (random Fourier features)."""

    def __init__(self, units, gamma, **kwargs):
        super().__init__(trainable=False, **kwargs)
        self.units = units
        self.gamma = gamma

    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], self.units), trainable=False,
                                 initializer=keras.initializers.RandomNormal(stddev=self.gamma, seed=2))
        self.b = self.add_weight(shape=(self.units,), trainable=False,
                                 initializer=keras.initializers.RandomUniform(0.0, 2 * np.pi, seed=3))

    def call(self, x):
        scale = (2.0 / self.units) ** 0.5
        return keras.ops.cos(x @ self.w + self.b) * scale


model = keras.Sequential([
    keras.Input((64,)),
    RandomFeatures(HIDDEN, gamma=0.15),
    layers.Dense(10, kernel_initializer="zeros", activation="softmax"),
])
model.summary()

schedule = keras.optimizers.schedules.CosineDecay(LEARNING_RATE, decay_steps=EPOCHS * (len(X_train) // 32 + 1))
model.compile(optimizer=keras.optimizers.SGD(schedule),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
before = model.layers[0].w.numpy().copy() if hasattr(model.layers[0].w, "numpy") else np.array(model.layers[0].w)
model.fit(X_train, y_train, batch_size=32, epochs=EPOCHS, validation_data=(X_test, y_test), verbose=2)
print("hidden weights changed:", not np.allclose(before, np.array(model.layers[0].w)))

linear = LogisticRegression(max_iter=2000).fit(X_train, y_train)
print("linear baseline   ", linear.score(X_test, y_test))
print("random features   ", model.evaluate(X_test, y_test, verbose=0)[1])
