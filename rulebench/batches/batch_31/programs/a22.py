"""Variational autoencoder for 8x8 digits, Keras 3 on JAX."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits

SEED = 40
keras.utils.set_random_seed(SEED)
X = (load_digits().data / 16.0).astype("float32")
X = X[np.random.permutation(len(X))]
x_train, x_test = X[:1500], X[1500:]
LATENT = 8


class Sampling(layers.Layer):
    """Draws z from N(mean, exp(logvar)) and adds the KL term to the loss."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_gen = keras.random.SeedGenerator(SEED)

    def call(self, inputs, training=None):
        mean, logvar = inputs
        kl = -0.5 * ops.sum(1 + logvar - ops.square(mean) - ops.exp(logvar), axis=1)
        self.add_loss(ops.mean(kl))
        if not training:
            return mean
        return mean + ops.exp(0.5 * logvar) * keras.random.normal(ops.shape(mean), seed=self.seed_gen)


x_in = keras.Input((64,))
h = layers.Dense(128, activation="relu")(x_in)
h = layers.Dense(64, activation="relu")(h)
mean = layers.Dense(LATENT, name="mean")(h)
logvar = layers.Dense(LATENT, name="logvar", kernel_initializer="zeros")(h)
z = Sampling()([mean, logvar])
h = layers.Dense(64, activation="relu")(z)
h = layers.Dense(128, activation="relu")(h)
x_out = layers.Dense(64, activation="sigmoid")(h)

vae = keras.Model(x_in, x_out)
encoder = keras.Model(x_in, mean)
vae.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy")
hist = vae.fit(x_train, x_train, epochs=60, batch_size=50, verbose=0)
for e in range(0, 60, 10):
    print(f"epoch {e:2d} loss {hist.history['loss'][e]:.4f}")

rec = vae.predict(x_test, verbose=0)
mse = float(np.mean((rec - x_test) ** 2))
var = float(np.mean((x_test - x_train.mean(0)) ** 2))
print("spread of the codes:", encoder.predict(x_test, verbose=0).std(0).round(3))
print(f"reconstruction mse on unseen digits {mse:.5f}; explained variance {1 - mse / var:.4f}")
