"""GAN on a ring of eight gaussians, custom train_step for the torch backend."""
import os
os.environ["KERAS_BACKEND"] = "torch"
import argparse

import numpy as np
import torch
import keras
from keras import layers, ops


def ring(n, rng, k=8, radius=2.0, sd=0.1):
    c = rng.integers(0, k, n)
    ang = 2 * np.pi * c / k
    pts = radius * np.stack([np.cos(ang), np.sin(ang)], 1) + sd * rng.normal(size=(n, 2))
    return pts.astype("float32")


def mlp(n_in, n_out, width, act):
    return keras.Sequential([
        layers.Input((n_in,)),
        layers.Dense(width, activation=act),
        layers.Dense(width, activation=act),
        layers.Dense(n_out),
    ])


class GAN(keras.Model):
    def __init__(self, latent, width):
        super().__init__()
        self.latent = latent
        self.generator = mlp(latent, 2, width, "relu")
        self.discriminator = mlp(2, 1, width, "leaky_relu")
        self.seed_gen = keras.random.SeedGenerator(77)
        self.d_loss = keras.metrics.Mean(name="d_loss")
        self.g_loss = keras.metrics.Mean(name="g_loss")
        self.built = True

    def compile(self, d_opt, g_opt):
        super().compile()
        self.d_opt, self.g_opt = d_opt, g_opt
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def metrics(self):
        return [self.d_loss, self.g_loss]

    def noise(self, n):
        return keras.random.normal((n, self.latent), seed=self.seed_gen)

    def train_step(self, real):
        if isinstance(real, tuple):
            real = real[0]
        n = real.shape[0]

        with torch.no_grad():
            fake = self.generator(self.noise(n))
        self.zero_grad()
        d_real, d_fake = self.discriminator(real), self.discriminator(fake)
        d_loss = self.bce(0.9 * ops.ones((n, 1)), d_real) + self.bce(ops.zeros((n, 1)), d_fake)
        d_loss.backward()
        dv = self.discriminator.trainable_weights
        with torch.no_grad():
            self.d_opt.apply([v.value.grad for v in dv], dv)

        self.zero_grad()
        g_loss = self.bce(ops.ones((n, 1)), self.discriminator(self.generator(self.noise(n))))
        g_loss.backward()
        gv = self.generator.trainable_weights
        with torch.no_grad():
            self.g_opt.apply([v.value.grad for v in gv], gv)

        self.d_loss.update_state(d_loss.detach())
        self.g_loss.update_state(g_loss.detach())
        return {m.name: m.result() for m in self.metrics}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--latent", type=int, default=8)
    ap.add_argument("--width", type=int, default=96)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=128)
    args = ap.parse_args()

    keras.utils.set_random_seed(77)
    rng = np.random.default_rng(77)
    data = ring(5120, rng)
    gan = GAN(args.latent, args.width)
    gan.compile(d_opt=keras.optimizers.Adam(1e-3, beta_1=0.5),
                g_opt=keras.optimizers.Adam(1e-3, beta_1=0.5))
    gan.fit(data, epochs=args.epochs, batch_size=args.batch_size, verbose=2)

    with torch.no_grad():
        fake = ops.convert_to_numpy(gan.generator(gan.noise(2000)))
    ang = 2 * np.pi * np.arange(8) / 8
    centres = 2.0 * np.stack([np.cos(ang), np.sin(ang)], 1)
    d = np.linalg.norm(fake[:, None] - centres[None], axis=-1)
    near = d.min(1) < 0.4
    share = np.bincount(d.argmin(1)[near], minlength=8) / len(fake)
    print("share of samples near a mode %.3f" % near.mean())
    print("modes covered", int((share > 0.02).sum()), share.round(3))


if __name__ == "__main__":
    main()
