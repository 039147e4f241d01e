"""Image classifier: convolutional base + small head."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(21)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
perm = np.random.permutation(len(x))
x, y = x[perm], y[perm]
x_tr, y_tr, x_va, y_va = x[:1400], y[:1400], x[1400:], y[1400:]


def conv_base():
    return keras.Sequential([
        layers.Input((8, 8, 1)),
        layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.GlobalAveragePooling2D(),
    ], name="base")


base = conv_base()
base.trainable = False

inputs = keras.Input((8, 8, 1))
z = base(inputs)
outputs = layers.Dense(10, activation="softmax")(z)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.summary()
model.fit(x_tr, y_tr, batch_size=32, epochs=20, validation_data=(x_va, y_va), verbose=2)
print("val accuracy: %.3f" % model.evaluate(x_va, y_va, verbose=0)[1])
