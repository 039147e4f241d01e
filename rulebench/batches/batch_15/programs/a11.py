"""Variational autoencoder on the 8x8 digits."""
import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Sampling(layers.Layer):
    """Draws z from N(mean, exp(log_var)) and registers the KL term."""

    def __init__(self, beta=1.0, seed=0, **kwargs):
        super().__init__(**kwargs)
        self.beta = beta
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, inputs, training=False):
        mean, log_var = inputs
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)
        self.add_loss(self.beta * ops.mean(kl))
        if not training:
            return mean
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


def build_vae(latent_dim, beta):
    x_in = keras.Input((64,))
    h = layers.Dense(128, activation="relu")(x_in)
    h = layers.Dense(64, activation="relu")(h)
    mean = layers.Dense(latent_dim, name="z_mean")(h)
    log_var = layers.Dense(latent_dim, name="z_log_var")(h)
    z = Sampling(beta)([mean, log_var])
    d = layers.Dense(64, activation="relu")(z)
    d = layers.Dense(128, activation="relu")(d)
    x_out = layers.Dense(64, activation="sigmoid")(d)
    return keras.Model(x_in, x_out, name="vae"), keras.Model(x_in, mean, name="encoder")


def reconstruction_loss(y_true, y_pred):
    return keras.losses.binary_crossentropy(y_true, y_pred)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--latent-dim", type=int, default=6)
    ap.add_argument("--beta", type=float, default=1.0)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=64)
    args = ap.parse_args()

    keras.utils.set_random_seed(2)
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype("float32")
    x_tr, x_te, _, y_te = train_test_split(x, y, test_size=0.2, random_state=0)

    vae, encoder = build_vae(args.latent_dim, args.beta)
    vae.compile(optimizer=keras.optimizers.Adam(1e-3), loss=reconstruction_loss,
                metrics=[keras.metrics.MeanSquaredError(name="mse")])
    vae.fit(x_tr, x_tr, epochs=args.epochs, batch_size=args.batch_size,
            validation_data=(x_te, x_te), verbose=2)

    rec = vae.predict(x_te, verbose=0)
    codes = encoder.predict(x_te, verbose=0)
    print("reconstruction mse  %.5f" % np.mean((rec - x_te) ** 2))
    print("variance of pixels  %.5f" % np.mean((x_te - x_tr.mean(0)) ** 2))
    print("std of codes", codes.std(0).round(3))


if __name__ == "__main__":
    main()
