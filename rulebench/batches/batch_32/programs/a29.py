import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

"""Variational autoencoder on 8x8 digits."""
SEED = 29
keras.utils.set_random_seed(SEED)
X = (load_digits().data / 16.0).astype("float32")
np.random.shuffle(X)
x_train, x_test = X[:1500], X[1500:]
LATENT = 8


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_gen = keras.random.SeedGenerator(SEED)

    def call(self, inputs, training=None):
        mu, logvar = inputs
        # KL divergence to N(0, I), summed over the latent dimensions
        kl = -0.5 * ops.sum(1 + logvar - ops.square(mu) - ops.exp(logvar), axis=-1)
        self.add_loss(ops.mean(kl))
        if not training:
            return mu
        return mu + ops.exp(0.5 * logvar) * keras.random.normal(ops.shape(mu), seed=self.seed_gen)


inp = keras.Input((64,))
h = layers.Dense(128, activation="relu")(inp)
mu = layers.Dense(LATENT, name="mu")(h)
logvar = layers.Dense(LATENT, name="logvar")(h)
z = Sampling()([mu, logvar])
h = layers.Dense(128, activation="relu")(z)
out = layers.Dense(64, activation="sigmoid")(h)
vae = keras.Model(inp, out)


def reconstruction(y_true, y_pred):
    return ops.mean(keras.losses.binary_crossentropy(y_true, y_pred))


vae.compile(optimizer=keras.optimizers.Adam(1e-3), loss=reconstruction)
vae.fit(x_train, x_train, epochs=60, batch_size=64, verbose=2, validation_data=(x_test, x_test))

rec = vae.predict(x_test, verbose=0)
print("variance of the test pixels: %.4f" % np.mean((x_test - x_train.mean(0)) ** 2))
print("reconstruction MSE: %.4f" % np.mean((rec - x_test) ** 2))
