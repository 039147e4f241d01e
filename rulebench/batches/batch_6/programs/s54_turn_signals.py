import os
os.environ["KERAS_BACKEND"] = "torch"
# Which way does the road arrow point? 4 classes: left, right, up, down
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
S = 16


def arrow(direction):
    img = np.zeros((S, S), "float32")
    c = S // 2
    img[c - 1:c + 1, 3:13] = 1.0
    for k in range(4):
        img[c - 1 - k, 3 + k] = 1.0
        img[c + k, 3 + k] = 1.0
    img = np.rot90(img, {0: 0, 1: 2, 2: 3, 3: 1}[direction])
    img = np.roll(img, (rng.integers(-2, 3), rng.integers(-2, 3)), (0, 1))
    return img * rng.uniform(0.5, 1.0) + rng.normal(0, 0.25, (S, S))


def dataset(n):
    y = rng.integers(0, 4, n)
    return np.stack([arrow(int(d)) for d in y])[..., None].astype("float32"), y


x_train, y_train = dataset(900)
x_test, y_test = dataset(400)

augment = keras.Sequential([
    layers.RandomFlip("horizontal"),
    layers.GaussianNoise(0.05),
], name="augment")

model = keras.Sequential([
    layers.Input((S, S, 1)),
    augment,
    layers.Conv2D(8, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(4),
])
model.compile(optimizer=keras.optimizers.Adam(2e-3),
              loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(x_train, y_train, epochs=7, batch_size=32, validation_data=(x_test, y_test), verbose=2)
print("test accuracy %.4f" % model.evaluate(x_test, y_test, verbose=0)[1])
