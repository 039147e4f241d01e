import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops

# VAE on 8x8 stroke images, ported from an old Keras 2 notebook
rng = np.random.default_rng(14)


def strokes(n):
    yy, xx = np.mgrid[:8, :8]
    ang = rng.uniform(0, np.pi, n)
    off = rng.uniform(-2, 2, n)
    d = np.cos(ang)[:, None, None] * (xx - 3.5) + np.sin(ang)[:, None, None] * (yy - 3.5) - off[:, None, None]
    return np.exp(-d ** 2).reshape(n, 64).astype("float32")


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed = keras.random.SeedGenerator(7)

    def call(self, args):
        mu, logvar = args
        kl = -0.5 * ops.sum(1 + logvar - ops.square(mu) - ops.exp(logvar), axis=-1)
        self.add_loss(ops.mean(kl))
        return mu + ops.exp(0.5 * logvar) * keras.random.normal(ops.shape(mu), seed=self.seed)


keras.utils.set_random_seed(14)
inp = keras.Input((64,))
h = layers.Dense(64, activation="relu")(inp)
mu, logvar = layers.Dense(4)(h), layers.Dense(4)(h)
z = Sampling()([mu, logvar])
d = layers.Dense(64, activation="relu")(z)
rec = layers.Dense(64, activation="sigmoid")(d)
vae = keras.Model(inp, rec)
encoder = keras.Model(inp, mu)
vae.compile(keras.optimizers.Adam(2e-3), loss="binary_crossentropy")

x_train, x_test = strokes(4000), strokes(500)
vae.fit(x_train, x_train, epochs=20, batch_size=64, verbose=2, validation_data=(x_test, x_test))
r = vae.predict(x_test, verbose=0)
print("reconstruction mse", np.mean((r - x_test) ** 2), "variance of the images", x_test.var(0).mean())
print("std of latent means", encoder.predict(x_test, verbose=0).std(0))
