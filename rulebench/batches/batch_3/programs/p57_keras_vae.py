"""Gaussian-likelihood VAE on digits, keras 3 / jax, learned output noise."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

SEED = 0
LATENT = 8
keras.utils.set_random_seed(SEED)


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(SEED)

    def call(self, inputs):
        mu, logvar = inputs
        eps = keras.random.normal(ops.shape(mu), seed=self.seed_generator)
        return mu + ops.exp(0.5 * logvar) * eps


class ELBO(layers.Layer):
    """adds the negative ELBO with a learned scalar observation noise"""

    def build(self, shapes):
        self.log_sigma = self.add_weight(shape=(), initializer="zeros", name="log_sigma")

    def call(self, inputs):
        x, rec, mu, logvar = inputs
        ls = self.log_sigma
        nll = ops.sum(0.5 * ops.square((x - rec) / ops.exp(ls)) + ls + 0.5 * np.log(2 * np.pi), axis=-1)
        kl = -0.5 * ops.sum(1 + logvar - ops.square(mu) - ops.exp(logvar), axis=-1)
        self.add_loss(ops.mean(nll + kl))
        return rec


x = (load_digits().data / 16.0).astype("float32")
train, test = x[:1500], x[1500:]

inp = keras.Input((64,))
h = layers.Dense(128, activation="gelu")(inp)
mu = layers.Dense(LATENT)(h)
logvar = layers.Dense(LATENT)(h)
z = Sampling()([mu, logvar])
h2 = layers.Dense(128, activation="gelu")
rec_layer = layers.Dense(64)
rec = rec_layer(h2(z))
elbo = ELBO(name="elbo")
vae = keras.Model(inp, elbo([inp, rec, mu, logvar]))
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
hist = vae.fit(train, epochs=60, batch_size=50, verbose=0)
for e in range(0, 60, 10):
    print("epoch", e, "negative elbo per image: %.2f" % hist.history["loss"][e])

mean_encoder = keras.Model(inp, mu)
m = mean_encoder.predict(test, verbose=0)
r = np.asarray(rec_layer(h2(m)))
print("final %.2f  sigma %.3f" % (hist.history["loss"][-1], np.exp(float(elbo.log_sigma.value))))
print("test mse %.4f vs mean image %.4f" % (((r - test) ** 2).mean(), ((train.mean(0) - test) ** 2).mean()))
