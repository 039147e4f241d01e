"""Variational autoencoder for 8x8 digits."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mu, log_var = inputs
        eps = keras.random.normal(ops.shape(mu), seed=self.seed)
        return mu + ops.exp(0.5 * log_var) * eps


def build_encoder(latent):
    inp = keras.Input((64,))
    h = layers.Dense(128, activation="relu")(inp)
    mu = layers.Dense(latent, name="mu")(h)
    log_var = layers.Dense(latent, name="log_var", kernel_initializer="zeros")(h)
    return keras.Model(inp, [mu, log_var, Sampling()([mu, log_var])], name="encoder")


def build_decoder(latent):
    inp = keras.Input((latent,))
    h = layers.Dense(128, activation="relu")(inp)
    return keras.Model(inp, layers.Dense(64, activation="sigmoid")(h), name="decoder")


class WarmUp(keras.callbacks.Callback):
    """KL weight from 0 to 1 over the first epochs."""

    def __init__(self, epochs):
        super().__init__()
        self.epochs = epochs

    def on_epoch_begin(self, epoch, logs=None):
        self.model.beta.assign(min(1.0, epoch / self.epochs))


class VAE(keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.encoder, self.decoder = build_encoder(latent), build_decoder(latent)
        self.beta = tf.Variable(0.0, trainable=False)
        self.trackers = {k: keras.metrics.Mean(name=k) for k in ("loss", "recon", "kl")}

    @property
    def metrics(self):
        return list(self.trackers.values())

    def train_step(self, x):
        with tf.GradientTape() as tape:
            mu, log_var, z = self.encoder(x, training=True)
            rec = self.decoder(z, training=True)
            bce = -(x * tf.math.log(rec + 1e-7) + (1 - x) * tf.math.log(1 - rec + 1e-7))
            recon = tf.reduce_mean(tf.reduce_sum(bce, axis=1))
            kl = tf.reduce_mean(-0.5 * tf.reduce_sum(1 + log_var - mu ** 2 - tf.exp(log_var), axis=1))
            loss = recon + self.beta * kl
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        for k, v in (("loss", loss), ("recon", recon), ("kl", kl)):
            self.trackers[k].update_state(v)
        return {m.name: m.result() for m in self.metrics}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--latent", type=int, default=6)
    ap.add_argument("--epochs", type=int, default=50)
    args = ap.parse_args()
    keras.utils.set_random_seed(4)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype("float32")

    vae = VAE(args.latent)
    vae.compile(optimizer=keras.optimizers.Adam(2e-3))
    vae.fit(x, batch_size=64, epochs=args.epochs, callbacks=[WarmUp(10)], verbose=2)

    mu, log_var, _ = vae.encoder.predict(x, verbose=0)
    print("active latent dimensions:", int((mu.var(0) > 0.1).sum()), "of", args.latent)
    rec = vae.decoder.predict(mu, verbose=0)
    print("reconstruction mse %.4f, of the mean image %.4f"
          % (((rec - x) ** 2).mean(), ((x.mean(0) - x) ** 2).mean()))
    probe = LogisticRegression(max_iter=2000).fit(mu[:1200], y[:1200])
    print("linear probe on the codes: %.3f" % probe.score(mu[1200:], y[1200:]))


if __name__ == "__main__":
    main()
