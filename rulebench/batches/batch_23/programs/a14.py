"""Gated MLP on tabular clusters, subclassed layers."""
import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import ops
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(5)


class GatedLinear(keras.layers.Layer):
    """(x V) * sigmoid(x W), bias on both branches."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        d = input_shape[-1]
        self.value_kernel = self.add_weight(shape=(d, self.units), initializer="zeros", name="value_kernel")
        self.gate_kernel = self.add_weight(shape=(d, self.units), initializer="zeros", name="gate_kernel")
        self.value_bias = self.add_weight(shape=(self.units,), initializer="zeros", name="value_bias")
        self.gate_bias = self.add_weight(shape=(self.units,), initializer="zeros", name="gate_bias")

    def call(self, x):
        value = ops.matmul(x, self.value_kernel) + self.value_bias
        gate = ops.sigmoid(ops.matmul(x, self.gate_kernel) + self.gate_bias)
        return value * gate


class GatedNet(keras.Model):
    def __init__(self, hidden, classes):
        super().__init__()
        self.first = GatedLinear(hidden)
        self.second = GatedLinear(hidden)
        self.drop = keras.layers.Dropout(0.1)
        self.out = GatedLinear(classes)

    def call(self, x, training=False):
        h = self.first(x)
        h = self.drop(h, training=training)
        h = self.second(h)
        return self.out(h)


X, y = make_classification(n_samples=4000, n_features=20, n_informative=10, n_redundant=4,
                           n_classes=4, n_clusters_per_class=2, class_sep=1.5, random_state=5)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=5, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train = scaler.transform(X_train).astype("float32")
X_test = scaler.transform(X_test).astype("float32")

model = GatedNet(48, 4)
model.compile(
    optimizer=keras.optimizers.Adam(3e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(X_train, y_train, validation_data=(X_test, y_test), epochs=12, batch_size=64, verbose=2)

logits = model.predict(X_test, verbose=0)
print("test accuracy:", round(float((logits.argmax(1) == y_test).mean()), 4))
print("predicted class counts:", np.bincount(logits.argmax(1), minlength=4).tolist())
