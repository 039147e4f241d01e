"""A small GAN for points on a ring of eight blobs."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import argparse

import numpy as np
import tensorflow as tf
import keras
from keras import layers


def ring(n, rng, radius=2.0, sigma=0.15, k=8):
    ang = rng.integers(0, k, n) * 2 * np.pi / k
    pts = np.stack([radius * np.cos(ang), radius * np.sin(ang)], 1)
    return (pts + rng.normal(0, sigma, (n, 2))).astype("float32")


def mlp(n_in, n_out, width=64, name=None):
    return keras.Sequential([
        layers.Input((n_in,)),
        layers.Dense(width),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(width),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Dense(n_out),
    ], name=name)


class GAN(keras.Model):
    def __init__(self, latent):
        super().__init__()
        self.latent = latent
        self.generator = mlp(latent, 2, name="generator")
        self.discriminator = mlp(2, 1, name="discriminator")
        self.d_track = keras.metrics.Mean(name="d_loss")
        self.g_track = keras.metrics.Mean(name="g_loss")

    def compile(self, d_opt, g_opt):
        super().compile()
        self.d_opt, self.g_opt = d_opt, g_opt
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    @property
    def metrics(self):
        return [self.d_track, self.g_track]

    def train_step(self, real):
        n = tf.shape(real)[0]
        fake = self.generator(tf.random.normal((n, self.latent)))
        both = tf.concat([fake, real], axis=0)
        labels = tf.concat([tf.ones((n, 1)), tf.zeros((n, 1))], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.bce(labels, self.discriminator(both))
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_opt.apply_gradients(zip(grads, self.discriminator.trainable_weights))

        z = tf.random.normal((n, self.latent))
        with tf.GradientTape() as tape:
            logits = self.discriminator(self.generator(z))
            g_loss = self.bce(tf.ones((n, 1)), logits)
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_opt.apply_gradients(zip(grads, self.generator.trainable_weights))

        self.d_track.update_state(d_loss)
        self.g_track.update_state(g_loss)
        return {m.name: m.result() for m in self.metrics}


def coverage(points, radius=2.0, k=8):
    ang = np.arange(k) * 2 * np.pi / k
    centres = np.stack([radius * np.cos(ang), radius * np.sin(ang)], 1)
    d = np.linalg.norm(points[:, None] - centres[None], axis=-1)
    close = d.min(1) < 0.6
    return close.mean(), len(np.unique(d.argmin(1)[close]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--latent", type=int, default=4)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    data = ring(4096, np.random.default_rng(0))

    gan = GAN(args.latent)
    gan.compile(keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.Adam(1e-3, beta_1=0.5))
    gan.fit(data, batch_size=args.batch, epochs=args.epochs, verbose=2)

    z = np.random.default_rng(1).normal(size=(2000, args.latent)).astype("float32")
    pts = gan.generator.predict(z, verbose=0)
    near, modes = coverage(pts)
    print(f"close to a blob: {near:.3f}   blobs reached: {modes}/8")
    print("mean", pts.mean(0), "std", pts.std(0), " data std", data.std(0))


if __name__ == "__main__":
    main()
