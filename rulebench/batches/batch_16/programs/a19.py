import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers


class LSGAN(keras.Model):
    """Least squares GAN for two dimensional points."""

    def __init__(self, latent_dim=8):
        super().__init__()
        self.latent_dim = latent_dim
        self.gen = keras.Sequential([
            layers.Input((latent_dim,)),
            layers.Dense(48, activation="relu"),
            layers.Dense(48, activation="relu"),
            layers.Dense(2),
        ])
        self.disc = keras.Sequential([
            layers.Input((2,)),
            layers.Dense(48), layers.LeakyReLU(negative_slope=0.2),
            layers.Dense(48), layers.LeakyReLU(negative_slope=0.2),
            layers.Dense(1),
        ])
        self.d_metric = keras.metrics.Mean(name="d_loss")
        self.g_metric = keras.metrics.Mean(name="g_loss")

    @property
    def metrics(self):
        return [self.d_metric, self.g_metric]

    def compile(self, d_opt, g_opt):
        super().compile()
        self.d_opt, self.g_opt = d_opt, g_opt

    def train_step(self, real):
        n = tf.shape(real)[0]
        fake = self.gen(tf.random.normal((n, self.latent_dim)), training=True)
        with tf.GradientTape() as tape:
            d_real = self.disc(real, training=True)
            d_fake = self.disc(fake, training=True)
            d_loss = 0.5 * (tf.reduce_mean((d_real - 1) ** 2) + tf.reduce_mean(d_fake ** 2))
        grads = tape.gradient(d_loss, self.disc.trainable_weights)
        self.d_opt.apply_gradients(zip(grads, self.disc.trainable_weights))

        with tf.GradientTape() as tape:
            fake = self.gen(tf.random.normal((n, self.latent_dim)), training=True)
            g_loss = 0.5 * tf.reduce_mean((self.disc(fake, training=True) - 1) ** 2)
        grads = tape.gradient(g_loss, self.gen.trainable_weights)
        self.g_opt.apply_gradients(zip(grads, self.gen.trainable_weights))
        self.d_metric.update_state(d_loss)
        self.g_metric.update_state(g_loss)
        return {m.name: m.result() for m in self.metrics}


class Report(keras.callbacks.Callback):
    def __init__(self, real):
        super().__init__()
        self.real = real

    def on_epoch_end(self, epoch, logs=None):
        if (epoch + 1) % 10 == 0:
            z = np.random.default_rng(0).normal(size=(1000, self.model.latent_dim)).astype("float32")
            fake = self.model.gen.predict_on_batch(z)
            print("real mean/std", self.real.mean(0), self.real.std(0),
                  "fake mean/std", fake.mean(0), fake.std(0))


def main():
    keras.utils.set_random_seed(6)
    rng = np.random.default_rng(6)
    mix = np.array([[0.9, 0.4], [-0.2, 0.6]])
    x = (rng.normal(size=(4096, 2)) @ mix + [1.0, -0.5]).astype("float32")

    gan = LSGAN()
    gan.compile(keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.Adam(5e-4, beta_1=0.5))
    gan.fit(x, batch_size=128, epochs=40, verbose=2, callbacks=[Report(x)])


if __name__ == "__main__":
    main()
