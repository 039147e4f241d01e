import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)


def make_images(n, size=16):
    yy, xx = np.mgrid[:size, :size]
    cx = rng.uniform(4, 12, (n, 1, 1))
    cy = rng.uniform(4, 12, (n, 1, 1))
    r = rng.uniform(2, 4, (n, 1, 1))
    img = np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * r ** 2))
    return (img * 255).astype("uint8")


x_train = make_images(1500).astype("float32").reshape(-1, 256)
x_test = make_images(300).astype("float32").reshape(-1, 256)

inp = layers.Input((256,))
h = layers.Dense(64, activation="relu")(inp)
code = layers.Dense(8, activation="relu")(h)
h = layers.Dense(64, activation="relu")(code)
out = layers.Dense(256, activation="sigmoid")(h)
ae = keras.Model(inp, out)
ae.compile(optimizer="adam", loss="mse")
ae.fit(x_train, x_train, epochs=15, batch_size=64, validation_data=(x_test, x_test), verbose=2)

rec = ae.predict(x_test, verbose=0)
print("explained:", 1 - np.mean((rec - x_test) ** 2) / np.var(x_test))
print("recon min/max", rec.min(), rec.max())
