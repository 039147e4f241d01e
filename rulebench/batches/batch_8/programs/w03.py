import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

# beta-VAE for digits with a KL warm-up
x = (load_digits().data / 16.0).astype("float32")
rng = np.random.default_rng(130)
rng.shuffle(x)


class Latent(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed = keras.random.SeedGenerator(1)
        self.beta = self.add_weight(shape=(), initializer="zeros", trainable=False, name="beta")

    def call(self, args):
        mu, lv = args
        kl = -0.5 * ops.sum(1 + lv - mu ** 2 - ops.exp(lv), axis=-1)
        self.add_loss(self.beta * ops.mean(kl))
        return mu + ops.exp(0.5 * lv) * keras.random.normal(ops.shape(mu), seed=self.seed)


def bce_sum(t, p):
    return 64.0 * keras.losses.binary_crossentropy(t, p)


keras.utils.set_random_seed(130)
inp = keras.Input((64,))
h = layers.Dense(128, activation="relu")(inp)
mu, lv = layers.Dense(8)(h), layers.Dense(8)(h)
lat = Latent()
z = lat([mu, lv])
h = layers.Dense(128, activation="relu")(z)
vae = keras.Model(inp, layers.Dense(64, activation="sigmoid")(h))
vae.compile(keras.optimizers.Adam(1e-3), loss=bce_sum)
for stage, beta in enumerate([0.0, 0.25, 0.5, 1.0]):
    lat.beta.assign(beta)
    vae.fit(x[:1500], x[:1500], epochs=8, batch_size=50, verbose=2, validation_data=(x[1500:], x[1500:]))
    rec = vae.predict(x[1500:], verbose=0)
    print("beta", beta, "reconstruction mse", ((rec - x[1500:]) ** 2).mean())
print("variance of the data", x.var(0).mean())
