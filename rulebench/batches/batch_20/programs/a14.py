import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(1)

LATENT = 6


class Sampling(layers.Layer):
    """Draws z from N(z_mean, exp(z_log_var))."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        eps = keras.random.normal(ops.shape(z_mean), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * eps


def make_encoder():
    inp = keras.Input((64,))
    h = layers.Dense(96, activation="relu")(inp)
    h = layers.Dense(48, activation="relu")(h)
    mean = layers.Dense(LATENT, name="z_mean")(h)
    log_var = layers.Dense(LATENT, name="z_log_var")(h)
    z = Sampling()([mean, log_var])
    return keras.Model(inp, [mean, log_var, z], name="encoder")


def make_decoder():
    inp = keras.Input((LATENT,))
    h = layers.Dense(48, activation="relu")(inp)
    h = layers.Dense(96, activation="relu")(h)
    return keras.Model(inp, layers.Dense(64, activation="sigmoid")(h), name="decoder")


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder = encoder
        self.decoder = decoder
        self.total = keras.metrics.Mean(name="loss")
        self.rec = keras.metrics.Mean(name="reconstruction")
        self.kl = keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.rec, self.kl]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            z_mean, z_log_var, z = self.encoder(data)
            recon = self.decoder(z)
            rec_loss = ops.mean(keras.losses.binary_crossentropy(data, recon))
            kl = -0.5 * (1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var))
            kl_loss = ops.mean(ops.sum(kl, axis=1))
            loss = rec_loss + kl_loss
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total.update_state(loss)
        self.rec.update_state(rec_loss)
        self.kl.update_state(kl_loss)
        return {m.name: m.result() for m in self.metrics}


x = (load_digits().data / 16.0).astype("float32")
x_train, x_test = x[:1500], x[1500:]

vae = VAE(make_encoder(), make_decoder())
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
vae.fit(x_train, epochs=25, batch_size=64, verbose=2)

mean, log_var, _ = vae.encoder.predict(x_test, verbose=0)
recon = vae.decoder.predict(mean, verbose=0)
print("latent std over the test set:", np.round(mean.std(0), 3))
print("test reconstruction MSE: %.4f" % np.mean((recon - x_test) ** 2))
print("pixel variance of the test set: %.4f" % x_test.var(0).mean())
