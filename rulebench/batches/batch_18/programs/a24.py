"""Variational autoencoder on the sklearn digits."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import argparse
import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(0)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


def make_encoder(latent):
    inp = keras.Input((64,))
    h = layers.Dense(128, activation="relu")(inp)
    mean = layers.Dense(latent, name="mean")(h)
    log_var = layers.Dense(latent, name="log_var")(h)
    z = Sampling()([mean, log_var])
    return keras.Model(inp, [mean, log_var, z], name="encoder")


def make_decoder(latent):
    inp = keras.Input((latent,))
    h = layers.Dense(128, activation="relu")(inp)
    return keras.Model(inp, layers.Dense(64, activation="sigmoid")(h), name="decoder")


class VAE(keras.Model):
    def __init__(self, latent, **kw):
        super().__init__(**kw)
        self.encoder = make_encoder(latent)
        self.decoder = make_decoder(latent)
        self.trackers = {k: keras.metrics.Mean(name=k) for k in ("loss", "recon", "kl")}

    @property
    def metrics(self):
        return list(self.trackers.values())

    def call(self, x):
        return self.decoder(self.encoder(x)[0])

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mean, log_var, z = self.encoder(x)
            out = self.decoder(z)
            recon = ops.mean(ops.sum(ops.square(x - out), axis=1)) / 0.1
            kl = ops.mean(ops.sum(0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
            loss = recon + kl
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        for k, v in (("loss", loss), ("recon", recon), ("kl", kl)):
            self.trackers[k].update_state(v)
        return {k: m.result() for k, m in self.trackers.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--latent", type=int, default=6)
    ap.add_argument("--epochs", type=int, default=30)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)

    x = (load_digits().data / 16.0).astype("float32")
    x_train, x_test = x[:1500], x[1500:]

    vae = VAE(args.latent)
    vae.compile(optimizer=keras.optimizers.Adam(1e-3))
    vae.fit(x_train, epochs=args.epochs, batch_size=64, verbose=2)

    rec = np.asarray(vae(x_test))
    print("test reconstruction MSE per pixel: %.4f" % np.mean((rec - x_test) ** 2))
    z = np.random.default_rng(0).normal(size=(200, args.latent)).astype("float32")
    samples = np.asarray(vae.decoder(z))
    d = ((samples[:, None] - x_train[None]) ** 2).sum(-1).min(1)
    print("mean squared distance of a prior sample to its nearest digit: %.3f" % d.mean())


if __name__ == "__main__":
    main()
