"""A GAN of Keras with a train step of its own, on TensorFlow and PyTorch."""

from __future__ import annotations

import keras
import numpy as np
from keras import layers, ops

BACKEND = keras.backend.backend()
LOSS = keras.losses.BinaryCrossentropy(from_logits=True)


class Game(keras.Model):
    """Learns points on a circle; made samples are labelled 1, as in the example of Keras.

    Args:
        wants: The label that the generator wants its samples to have: 0 is that of real ones.
        apart: Compute a loss of real samples, and one of made ones, instead of one of both.
    """

    def __init__(self, wants, *, apart=False):
        super().__init__()
        self.wants, self.apart = wants, apart
        self.generator = _network(4, 2)
        self.discriminator = _network(2, 1)
        self.built = True  # its networks are
        self.pair = [keras.optimizers.Adam(rate, beta_1=0.5) for rate in (5e-3, 5e-3)]

    def _judged(self, real, made):
        """Return the loss of the discriminator."""
        ones, zeros = (one((ops.shape(real)[0], 1)) for one in (ops.ones, ops.zeros))
        if self.apart:
            losses = LOSS(zeros, self.discriminator(real)), LOSS(ones, self.discriminator(made))
            return losses[0] + losses[1]
        both, labels = ops.concatenate([made, real]), ops.concatenate([ones, zeros])
        return LOSS(labels, self.discriminator(both))

    def _fooled(self, noise):
        """Return the loss of the generator."""
        labels = ops.full((ops.shape(noise)[0], 1), self.wants)
        return LOSS(labels, self.discriminator(self.generator(noise)))

    def train_step(self, real):
        noise = keras.random.normal((ops.shape(real)[0], 4))
        made = ops.stop_gradient(self.generator(noise))
        judged = self._update(0, self.discriminator, lambda: self._judged(real, made))
        fooled = self._update(1, self.generator, lambda: self._fooled(noise))
        return {"d_loss": judged, "g_loss": fooled}

    def _update(self, index, network, loss_of):
        weights = list(network.trainable_weights)
        if BACKEND == "tensorflow":
            import tensorflow as tf

            with tf.GradientTape() as tape:
                loss = loss_of()
            gradients = tape.gradient(loss, weights)
        else:
            self.zero_grad()
            loss = loss_of()
            loss.backward()
            gradients = [one.value.grad for one in weights]
        self.pair[index].apply(gradients, weights)
        return loss


def _network(inputs, outputs):
    parts = [layers.Input((inputs,)), layers.Dense(32, "leaky_relu"), layers.Dense(outputs)]
    return keras.Sequential(parts)


def play(wants, **options):
    """Train one for some hundred steps."""
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    angles = rng.uniform(0, 2 * np.pi, 2048)
    points = np.stack([np.cos(angles), np.sin(angles)], 1) + rng.normal(0, 0.1, (2048, 2))
    game = Game(wants, **options)
    game.compile()
    game.fit(points.astype("float32"), batch_size=32, epochs=6, verbose=0)
