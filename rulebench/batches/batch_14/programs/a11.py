"""Variational autoencoder on 12x12 synthetic strokes (Keras 3, torch backend)."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse
import numpy as np
import torch
import keras
from keras import layers, ops

SIZE = 12


def draw(n, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    imgs = np.zeros((n, SIZE, SIZE), "float32")
    for k in range(n):
        ang = rng.uniform(0, np.pi)
        cx, cy = rng.uniform(3, 8, 2)
        d = np.abs((xx - cx) * np.sin(ang) - (yy - cy) * np.cos(ang))
        imgs[k] = np.exp(-(d / 1.0) ** 2)
    return imgs[..., None]


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(1)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


def make_encoder(latent):
    inp = keras.Input((SIZE, SIZE, 1))
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu")(inp)
    x = layers.Flatten()(x)
    x = layers.Dense(64, activation="relu")(x)
    mean, log_var = layers.Dense(latent)(x), layers.Dense(latent)(x)
    z = Sampling()([mean, log_var])
    return keras.Model(inp, [mean, log_var, z], name="encoder")


def make_decoder(latent):
    inp = keras.Input((latent,))
    x = layers.Dense(64, activation="relu")(inp)
    x = layers.Dense(128, activation="relu")(x)
    x = layers.Dense(SIZE * SIZE, activation="sigmoid")(x)
    return keras.Model(inp, layers.Reshape((SIZE, SIZE, 1))(x), name="decoder")


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kw):
        super().__init__(**kw)
        self.encoder, self.decoder = encoder, decoder
        self.trackers = {k: keras.metrics.Mean(name=k) for k in ("loss", "recon", "kl")}

    @property
    def metrics(self):
        return list(self.trackers.values())

    def call(self, x):
        return self.decoder(self.encoder(x)[2])

    def train_step(self, data):
        x = data
        mean, log_var, z = self.encoder(x)
        rec = self.decoder(z)
        bce = keras.losses.binary_crossentropy(x, rec)
        recon = ops.mean(bce)
        kl = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
        loss = recon + kl

        self.zero_grad()
        loss.backward()
        tv = self.trainable_variables
        with torch.no_grad():
            self.optimizer.apply([v.value.grad for v in tv], tv)
        for name, val in (("loss", loss), ("recon", recon), ("kl", kl)):
            self.trackers[name].update_state(val)
        return {k: m.result() for k, m in self.trackers.items()}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--latent", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=18)
    ap.add_argument("--lr", type=float, default=2e-3)
    a = ap.parse_args()
    keras.utils.set_random_seed(0)
    x, xv = draw(2000, 0), draw(300, 1)

    enc, dec = make_encoder(a.latent), make_decoder(a.latent)
    vae = VAE(enc, dec)
    vae.compile(optimizer=keras.optimizers.Adam(a.lr))
    vae.fit(x, epochs=a.epochs, batch_size=64, verbose=2)

    mean, log_var, _ = enc.predict(xv, verbose=0)
    rec = dec.predict(mean, verbose=0)
    print("val recon MSE", float(((rec - xv) ** 2).mean()),
          " MSE of mean image", float(((xv - x.mean(0)) ** 2).mean()))
    print("latent std over data", mean.std(0))
    samples = dec.predict(np.random.normal(size=(64, a.latent)), verbose=0)
    print("pixel std over samples", samples.std(0).mean(), "data", xv.std(0).mean())


if __name__ == "__main__":
    main()
