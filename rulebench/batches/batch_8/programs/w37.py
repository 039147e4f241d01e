import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)


def make_images(n, size=24):
    """Colour images in the layout of the CIFAR pickles."""
    imgs = rng.normal(0.4, 0.15, (n, 3, size, size))
    labels = rng.integers(0, 4, n)
    yy, xx = np.mgrid[:size, :size]
    for i, c in enumerate(labels):
        cy, cx = rng.integers(7, size - 7, 2)
        r = rng.integers(3, 6)
        disk = (yy - cy) ** 2 + (xx - cx) ** 2 <= r * r
        square = (abs(yy - cy) <= r - 1) & (abs(xx - cx) <= r - 1)
        shape = disk if c % 2 == 0 else (square & ~((abs(yy - cy) < r - 2) & (abs(xx - cx) < r - 2)))
        ch = 0 if c < 2 else 2
        imgs[i, ch][shape] += 0.5
    return np.clip(imgs, 0, 1).astype("float32"), labels


raw, y = make_images(2400)
x = raw.reshape(-1, 24, 24, 3)
x_train, y_train = x[:2000], y[:2000]
x_test, y_test = x[2000:], y[2000:]

model = keras.Sequential([
    keras.Input((24, 24, 3)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu"),
    layers.GlobalMaxPooling2D(),
    layers.Dense(32, activation="relu"),
    layers.Dense(4, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=10, batch_size=64, validation_data=(x_test, y_test), verbose=2)
