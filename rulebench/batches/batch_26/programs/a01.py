"""Kernel approximation with a tiny Keras layer.

Course notes, week 6: "ridge regression in feature space, but with SGD".
We map the 64 pixels of the digits to cos(Wx + b) features and learn the read-out.
"""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 3
keras.utils.set_random_seed(SEED)


class FourierFeatures(layers.Layer):
    """Rahimi & Recht (2007)."""

    def __init__(self, n_features, gamma, **kw):
        super().__init__(**kw)
        self.n_features = n_features
        self.gamma = gamma

    def build(self, input_shape):
        d = input_shape[-1]
        self.w = self.add_weight(
            shape=(d, self.n_features),
            initializer=keras.initializers.RandomNormal(stddev=(2 * self.gamma) ** 0.5, seed=SEED),
            trainable=False, name="w")
        self.b = self.add_weight(
            shape=(self.n_features,),
            initializer=keras.initializers.RandomUniform(0.0, 2 * np.pi, seed=SEED),
            trainable=False, name="b")

    def call(self, x):
        return ops.cos(ops.matmul(x, self.w) + self.b) * (2.0 / self.n_features) ** 0.5


X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, stratify=y, random_state=SEED)

model = keras.Sequential([
    keras.Input((64,)),
    FourierFeatures(1000, gamma=0.08),
    layers.Dense(10),
])
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=5.0, momentum=0.9),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.summary()
hist = model.fit(Xtr, ytr, batch_size=64, epochs=40, validation_data=(Xte, yte), verbose=0)
for e in range(0, 40, 8):
    print(f"epoch {e:3d}  loss {hist.history['loss'][e]:.4f}  val_acc {hist.history['val_accuracy'][e]:.4f}")

_, acc = model.evaluate(Xte, yte, verbose=0)
print("test accuracy:", round(float(acc), 4))
