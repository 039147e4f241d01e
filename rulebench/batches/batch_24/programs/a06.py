import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import torch
import keras
from keras import layers

keras.utils.set_random_seed(3)
LATENT = 4


def real_points(n, rng):
    """Curved, skewed cloud (two measured quantities of a pump)."""
    u = rng.normal(0, 1, n)
    v = 0.6 * u ** 2 - 0.6 + rng.normal(0, 0.3, n)
    return np.stack([u, v], 1).astype("float32")


generator = keras.Sequential([
    keras.Input((LATENT,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(2),
], name="generator")

discriminator = keras.Sequential([
    keras.Input((2,)),
    layers.Dense(64), layers.LeakyReLU(negative_slope=0.2),
    layers.Dense(64), layers.LeakyReLU(negative_slope=0.2),
    layers.Dense(1),
], name="discriminator")


class RingGAN(keras.Model):
    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator = generator
        self.discriminator = discriminator
        self.d_metric = keras.metrics.Mean(name="d_loss")
        self.g_metric = keras.metrics.Mean(name="g_loss")
        self.built = True

    @property
    def metrics(self):
        return [self.d_metric, self.g_metric]

    def compile(self, d_opt, g_opt):
        super().compile()
        self.d_opt = d_opt
        self.g_opt = g_opt
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    def train_step(self, real):
        if isinstance(real, tuple):
            real = real[0]
        n = real.shape[0]
        ones, zeros = torch.ones(n, 1), torch.zeros(n, 1)

        fake = self.generator(torch.randn(n, LATENT)).detach()
        self.discriminator.zero_grad()
        d_loss = (self.bce(ones * 0.9, self.discriminator(real))
                  + self.bce(zeros, self.discriminator(fake)))
        d_loss.backward()
        with torch.no_grad():
            w = self.discriminator.trainable_weights
            self.d_opt.apply([v.value.grad for v in w], w)

        self.generator.zero_grad()
        score = self.discriminator(self.generator(torch.randn(n, LATENT)))
        g_loss = self.bce(ones, score)
        g_loss.backward()
        with torch.no_grad():
            w = self.generator.trainable_weights
            self.g_opt.apply([v.value.grad for v in w], w)

        self.d_metric.update_state(d_loss)
        self.g_metric.update_state(g_loss)
        return {"d_loss": self.d_metric.result(), "g_loss": self.g_metric.result()}


rng = np.random.default_rng(0)
data = real_points(5120, rng)
gan = RingGAN(generator, discriminator)
gan.compile(keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.Adam(1e-3, beta_1=0.5))


reference = real_points(800, np.random.default_rng(1))


def energy_distance(a, b):
    def mean_dist(p, q):
        return np.linalg.norm(p[:, None] - q[None], axis=-1).mean()
    return 2 * mean_dist(a, b) - mean_dist(a, a) - mean_dist(b, b)


def report(tag):
    fake = keras.ops.convert_to_numpy(generator(torch.randn(800, LATENT)))
    print(f"{tag}: energy distance {energy_distance(fake, reference):.4f}, "
          f"mean {fake.mean(0).round(2)} (real {reference.mean(0).round(2)}), "
          f"std {fake.std(0).round(2)} (real {reference.std(0).round(2)})")


report("start")
for block in range(3):
    gan.fit(data, batch_size=64, epochs=2, verbose=2)
    report(f"after {2 * (block + 1)} epochs")
