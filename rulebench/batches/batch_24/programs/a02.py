import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(7)

# ---------------------------------------------------------------- data
digits = load_digits()
X = (digits.images / 16.0).astype("float32")[..., None]
X_train, X_test = train_test_split(X, test_size=0.25, random_state=3)
print("train", X_train.shape, "test", X_test.shape)


# ---------------------------------------------------------------- model
class Corrupt(layers.Layer):
    """Adds gaussian noise to the images while training."""

    def __init__(self, stddev, seed=42, **kwargs):
        super().__init__(**kwargs)
        self.stddev = stddev
        self.seed = seed

    def call(self, x, training=False):
        if not training:
            return x
        noise = keras.random.normal(ops.shape(x), stddev=self.stddev, seed=self.seed)
        return x + noise


def build(stddev=0.5):
    inp = keras.Input((8, 8, 1))
    x = Corrupt(stddev)(inp)
    x = layers.Flatten()(x)
    x = layers.Dense(256, activation="relu")(x)
    x = layers.Dense(128, activation="relu")(x)
    x = layers.Dense(256, activation="relu")(x)
    x = layers.Dense(64, activation="sigmoid")(x)
    out = layers.Reshape((8, 8, 1))(x)
    return keras.Model(inp, out)


model = build()
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="mse")
hist = model.fit(X_train, X_train, batch_size=16, epochs=30, verbose=2)

# ---------------------------------------------------------------- evaluation
rng = np.random.default_rng(123)


def psnr(a, b):
    return 10 * np.log10(1.0 / np.mean((a - b) ** 2))


for std in (0.3, 0.5, 0.7):
    noisy = X_test + rng.normal(0, std, X_test.shape).astype("float32")
    clean = model.predict(noisy, verbose=0)
    print(f"std {std}: noisy {psnr(noisy, X_test):.2f} dB -> denoised {psnr(clean, X_test):.2f} dB"
          f"  mse {np.mean((clean - X_test) ** 2):.4f}")
print("last training loss", hist.history["loss"][-1])
