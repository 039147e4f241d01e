import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


class Sampling(layers.Layer):
    """Draws z from the posterior and adds the KL divergence to the loss."""

    def __init__(self, beta=1.0, **kw):
        super().__init__(**kw)
        self.beta = beta
        self.seed_gen = keras.random.SeedGenerator(12)

    def call(self, inputs):
        mean, log_var = inputs
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)
        self.add_loss(self.beta * ops.mean(kl))
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_gen)
        return mean + ops.exp(0.5 * log_var) * eps


def reconstruction_loss(x, x_hat):
    x_hat = ops.clip(x_hat, 1e-6, 1 - 1e-6)
    bce = -(x * ops.log(x_hat) + (1 - x) * ops.log(1 - x_hat))
    return ops.mean(bce, axis=-1)


def build_vae(dim, latent, beta):
    inp = keras.Input((dim,))
    h = layers.Dense(64, activation="relu")(inp)
    h = layers.Dense(32, activation="relu")(h)
    mean = layers.Dense(latent, name="z_mean")(h)
    log_var = layers.Dense(latent, name="z_log_var")(h)
    z = Sampling(beta)([mean, log_var])
    encoder = keras.Model(inp, [mean, log_var, z], name="encoder")

    zin = keras.Input((latent,))
    h = layers.Dense(32, activation="relu")(zin)
    h = layers.Dense(64, activation="relu")(h)
    out = layers.Dense(dim, activation="sigmoid")(h)
    decoder = keras.Model(zin, out, name="decoder")
    vae = keras.Model(inp, decoder(encoder(inp)[2]), name="vae")
    return vae, encoder, decoder


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--latent", type=int, default=4)
    p.add_argument("--beta", type=float, default=1.0)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--lr", type=float, default=2e-3)
    a = p.parse_args()
    keras.utils.set_random_seed(3)
    x, _ = load_digits(return_X_y=True)
    x = (x / 16.0).astype("float32")
    x_train, x_val = x[:1500], x[1500:]

    vae, encoder, decoder = build_vae(x.shape[1], a.latent, a.beta)
    vae.compile(optimizer=keras.optimizers.Adam(a.lr), loss=reconstruction_loss)
    vae.fit(x_train, x_train, batch_size=64, epochs=a.epochs,
            validation_data=(x_val, x_val), verbose=2)

    mean, log_var, _ = encoder.predict(x_val, verbose=0)
    rec = decoder.predict(mean, verbose=0)
    samples = decoder.predict(np.random.normal(size=(64, a.latent)), verbose=0)
    print("reconstruction mse %.4f (always the mean image: %.4f)"
          % (np.mean((rec - x_val) ** 2), np.mean((x_train.mean(0) - x_val) ** 2)))
    print("std of z_mean per dimension", mean.std(0).round(3))
    print("pixel std across samples %.4f, across data %.4f"
          % (samples.std(0).mean(), x_val.std(0).mean()))


if __name__ == "__main__":
    main()
