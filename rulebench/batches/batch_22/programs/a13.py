"""VAE on 8x8 digits with a beta warm-up. Keras 3, TensorFlow backend, custom train_step."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(6)
LATENT = 4

data = (load_digits().data / 16.0).astype("float32")
perm = np.random.default_rng(0).permutation(len(data))
x_train, x_test = data[perm[:1500]], data[perm[1500:]]


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(0)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


class VAE(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.enc = keras.Sequential([layers.Dense(128, activation="relu"), layers.Dense(64, activation="relu")])
        self.mean = layers.Dense(LATENT)
        self.log_var = layers.Dense(LATENT)
        self.sample = Sampling()
        self.dec = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(128, activation="relu"),
                                     layers.Dense(64)])
        self.beta = self.add_weight(shape=(), initializer="zeros", trainable=False, name="beta")
        self.trackers = {k: keras.metrics.Mean(name=k) for k in ("loss", "recon", "kl")}

    @property
    def metrics(self):
        return list(self.trackers.values())

    def encode(self, x):
        h = self.enc(x)
        return self.mean(h), self.log_var(h)

    def call(self, x):
        mean, log_var = self.encode(x)
        return self.dec(self.sample([mean, log_var])), mean, log_var

    def train_step(self, x):
        with tf.GradientTape() as tape:
            logits, mean, log_var = self(x, training=True)
            recon = ops.mean(ops.sum(keras.ops.binary_crossentropy(x, logits, from_logits=True), axis=-1))
            kl = -0.5 * ops.mean(ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1))
            loss = recon + self.beta * kl
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights))
        for k, v in (("loss", loss), ("recon", recon), ("kl", kl)):
            self.trackers[k].update_state(v)
        return {m.name: m.result() for m in self.metrics}


class BetaWarmup(keras.callbacks.Callback):
    def __init__(self, epochs):
        super().__init__()
        self.warm = epochs

    def on_epoch_begin(self, epoch, logs=None):
        self.model.beta.assign(min(1.0, max(0.0, (epoch - 5) / self.warm)))


vae = VAE()
vae(x_train[:2])
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
vae.fit(x_train, epochs=32, batch_size=64, callbacks=[BetaWarmup(20)], verbose=2)

mean, log_var = vae.encode(x_test)
recon = ops.sigmoid(vae.dec(mean)).numpy()
print("test reconstruction mse:", float(np.mean((recon - x_test) ** 2)), " data variance:", float(x_test.var(0).mean()))
print("kl per latent:", (-0.5 * (1 + log_var - mean ** 2 - ops.exp(log_var))).numpy().mean(0).round(2))
