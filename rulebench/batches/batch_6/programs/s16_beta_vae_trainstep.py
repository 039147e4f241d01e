import os
os.environ["KERAS_BACKEND"] = "tensorflow"
"""beta-VAE with an overridden train_step and two loss trackers."""
import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(55)
data = (load_digits().data / 16.0).astype("float32")
np.random.shuffle(data)


class BetaVAE(keras.Model):
    def __init__(self, latent=6, beta=0.5, **kw):
        super().__init__(**kw)
        self.enc = keras.Sequential([layers.Input((64,)), layers.Dense(96, activation="relu"), layers.Dense(2 * latent)])
        self.dec = keras.Sequential([layers.Input((latent,)), layers.Dense(96, activation="relu"), layers.Dense(64)])
        self.latent, self.beta = latent, beta
        self.rec_tracker = keras.metrics.Mean(name="rec")
        self.kl_tracker = keras.metrics.Mean(name="kl")
        self.seed = keras.random.SeedGenerator(55)

    @property
    def metrics(self):
        return [self.rec_tracker, self.kl_tracker]

    def call(self, x):
        return ops.sigmoid(self.dec(self.enc(x)[:, :self.latent]))

    def train_step(self, x):
        with tf.GradientTape() as tape:
            stats = self.enc(x, training=True)
            mu, logvar = stats[:, :self.latent], stats[:, self.latent:]
            z = mu + ops.exp(0.5 * logvar) * keras.random.normal(ops.shape(mu), seed=self.seed)
            logits = self.dec(z, training=True)
            rec = ops.mean(ops.sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits), axis=1))
            kl = ops.mean(-0.5 * ops.sum(1 + logvar - ops.square(mu) - ops.exp(logvar), axis=1))
            loss = rec + self.beta * kl
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        self.rec_tracker.update_state(rec)
        self.kl_tracker.update_state(kl)
        return {m.name: m.result() for m in self.metrics}


vae = BetaVAE()
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
vae.fit(data[:1500], epochs=30, batch_size=64, verbose=2)
rec = vae.predict(data[1500:], verbose=0)
print("test reconstruction mse %.4f (mean image %.4f)" % (((rec - data[1500:]) ** 2).mean(), ((data[:1500].mean(0) - data[1500:]) ** 2).mean()))
