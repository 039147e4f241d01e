"""Classify tiny 12x12 pictures: which of four textures is somewhere in the picture."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers

SEED = 17
keras.utils.set_random_seed(SEED)

KERNELS = np.array([
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0, 0, 1], [0, 1, 0], [1, 0, 0]],
    [[0, 1, 0], [0, 1, 0], [0, 1, 0]],
    [[0, 0, 0], [1, 1, 1], [0, 0, 0]],
], dtype="float32")


def make_images(n, rng):
    X = rng.normal(0, 0.25, size=(n, 12, 12, 1)).astype("float32")
    y = rng.integers(0, 4, n)
    for i in range(n):
        for _ in range(3):
            r, c = rng.integers(0, 10, 2)
            X[i, r:r + 3, c:c + 3, 0] += KERNELS[y[i]]
    return X, y


def build_model():
    inputs = keras.Input((12, 12, 1))
    x = layers.Conv2D(16, 3, activation="relu", name="conv1")(inputs)
    x = layers.Conv2D(32, 3, activation="relu", name="conv2")(x)
    x = layers.GlobalMaxPooling2D(name="pool")(x)
    x = layers.Flatten()(inputs)
    x = layers.Dense(32, activation="relu", name="fc")(x)
    x = layers.Dropout(0.2)(x)
    outputs = layers.Dense(4, activation="softmax", name="out")(x)
    return keras.Model(inputs, outputs)


rng = np.random.default_rng(SEED)
X_train, y_train = make_images(1600, rng)
X_test, y_test = make_images(600, rng)

model = build_model()
model.compile(optimizer=keras.optimizers.Adam(2e-3),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
hist = model.fit(X_train, y_train, batch_size=32, epochs=20,
                 validation_data=(X_test, y_test), verbose=2)
print("train accuracy", hist.history["accuracy"][-1])
print("test accuracy", model.evaluate(X_test, y_test, verbose=0)[1])
