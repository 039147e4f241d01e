import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(2)

LATENT_DIM = 6


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(2)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


class KLDivergence(layers.Layer):
    """Adds the KL term to the loss and passes its inputs through."""

    def call(self, inputs):
        mean, log_var = inputs
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)
        self.add_loss(ops.mean(kl))
        return mean, log_var


def build_encoder():
    x_in = keras.Input((64,))
    h = layers.Dense(128, activation="relu")(x_in)
    h = layers.Dense(64, activation="relu")(h)
    mean = layers.Dense(LATENT_DIM, name="z_mean")(h)
    log_var = layers.Dense(LATENT_DIM, name="z_log_var")(h)
    return keras.Model(x_in, [mean, log_var], name="encoder")


def build_decoder():
    z_in = keras.Input((LATENT_DIM,))
    h = layers.Dense(64, activation="relu")(z_in)
    h = layers.Dense(128, activation="relu")(h)
    out = layers.Dense(64, activation="sigmoid")(h)
    return keras.Model(z_in, out, name="decoder")


encoder, decoder = build_encoder(), build_decoder()
inputs = keras.Input((64,))
mean, log_var = KLDivergence()(encoder(inputs))
z = Sampling()([mean, log_var])
vae = keras.Model(inputs, decoder(z), name="vae")


def reconstruction_loss(y_true, y_pred):
    return ops.mean(keras.losses.binary_crossentropy(y_true, y_pred))


digits = (load_digits().data / 16.0).astype("float32")
perm = np.random.default_rng(2).permutation(len(digits))
train, test = digits[perm[:1500]], digits[perm[1500:]]

vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss=reconstruction_loss)
vae.fit(train, train, validation_data=(test, test), batch_size=64, epochs=40, verbose=2)

z_mean, z_log_var = encoder.predict(test, verbose=0)
recon = decoder.predict(z_mean, verbose=0)
mse = np.mean((recon - test) ** 2)
baseline = np.mean((train.mean(0) - test) ** 2)
print(f"test reconstruction mse {mse:.5f} (mean image {baseline:.5f})")
print("std of latent means over the test set:", z_mean.std(0).round(3))
