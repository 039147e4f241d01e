"""Hinge GAN with a custom train_step on the torch backend (8 Gaussians on a ring).

Adapted from the "Customizing what happens in fit() with PyTorch" guide.
"""
import os

os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers, ops

keras.utils.set_random_seed(3)
LATENT = 8


def ring(n, rng):
    k = rng.integers(0, 8, n)
    c = np.stack([np.cos(k * np.pi / 4), np.sin(k * np.pi / 4)], 1) * 2.0
    return (c + rng.normal(0, 0.1, (n, 2))).astype("float32")


def mlp(n_in, n_out, name):
    return keras.Sequential(
        [
            keras.Input((n_in,)),
            layers.Dense(64),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Dense(64),
            layers.LeakyReLU(negative_slope=0.2),
            layers.Dense(n_out),
        ],
        name=name,
    )


class GAN(keras.Model):
    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator = generator
        self.discriminator = discriminator
        self.d_tracker = keras.metrics.Mean(name="d_loss")
        self.g_tracker = keras.metrics.Mean(name="g_loss")
        self.built = True

    @property
    def metrics(self):
        return [self.d_tracker, self.g_tracker]

    def compile(self, d_optimizer, g_optimizer):
        super().compile()
        self.d_optimizer = d_optimizer
        self.g_optimizer = g_optimizer

    def train_step(self, real):
        if isinstance(real, tuple):
            real = real[0]
        n = real.shape[0]

        # discriminator
        fake = self.generator(torch.randn(n, LATENT)).detach()
        d_loss = (
            ops.mean(ops.relu(1.0 - self.discriminator(real)))
            + ops.mean(ops.relu(1.0 + self.discriminator(fake)))
        )
        d_loss.backward()
        weights = [v for v in self.discriminator.trainable_weights]
        grads = [v.value.grad for v in weights]
        with torch.no_grad():
            self.d_optimizer.apply(grads, weights)

        # generator
        self.generator.zero_grad()
        g_loss = -ops.mean(self.discriminator(self.generator(torch.randn(n, LATENT))))
        self.discriminator.zero_grad()
        g_loss.backward()
        weights = [v for v in self.generator.trainable_weights]
        grads = [v.value.grad for v in weights]
        with torch.no_grad():
            self.g_optimizer.apply(grads, weights)

        self.d_tracker.update_state(d_loss.detach())
        self.g_tracker.update_state(g_loss.detach())
        return {"d_loss": self.d_tracker.result(), "g_loss": self.g_tracker.result()}


rng = np.random.default_rng(0)
data = ring(8192, rng)
gan = GAN(mlp(LATENT, 2, "generator"), mlp(2, 1, "discriminator"))
gan.compile(
    d_optimizer=keras.optimizers.Adam(1e-3, beta_1=0.5),
    g_optimizer=keras.optimizers.Adam(1e-3, beta_1=0.5),
)
for rnd in range(6):
    h = gan.fit(data, batch_size=128, epochs=3, verbose=0).history
    print(f"round {rnd}: d_loss {h['d_loss'][-1]:.3f}  g_loss {h['g_loss'][-1]:.3f}")

with torch.no_grad():
    s = gan.generator(torch.randn(2000, LATENT)).cpu().numpy()
ang = np.arange(8) * np.pi / 4
centers = 2.0 * np.stack([np.cos(ang), np.sin(ang)], 1)
dist = np.linalg.norm(s[:, None] - centers[None], axis=-1)
good = dist.min(1) < 0.35
modes = len(set(dist.argmin(1)[good]))
print(f"high quality samples: {good.mean():.3f}   modes covered: {modes}/8   mean dist {dist.min(1).mean():.3f}")
