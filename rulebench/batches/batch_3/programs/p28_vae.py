"""Variational autoencoder on 8x8 digits, custom train_step (from the keras VAE example)."""
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

SEED = 27
keras.utils.set_random_seed(SEED)
LATENT = 6


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(SEED)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


enc_in = keras.Input((64,))
x = layers.Dense(128, activation="relu")(enc_in)
x = layers.Dense(64, activation="relu")(x)
z_mean = layers.Dense(LATENT, name="z_mean")(x)
z_log_var = layers.Dense(LATENT, name="z_log_var")(x)
encoder = keras.Model(enc_in, [z_mean, z_log_var, Sampling()([z_mean, z_log_var])])

dec_in = keras.Input((LATENT,))
x = layers.Dense(64, activation="relu")(dec_in)
x = layers.Dense(128, activation="relu")(x)
decoder = keras.Model(dec_in, layers.Dense(64, activation="sigmoid")(x))


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kw):
        super().__init__(**kw)
        self.encoder, self.decoder = encoder, decoder
        self.total = keras.metrics.Mean(name="loss")
        self.rec = keras.metrics.Mean(name="reconstruction")
        self.kl = keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.rec, self.kl]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var, z = self.encoder(data, training=True)
            out = self.decoder(z, training=True)
            # 64 pixels: the mean over pixels times 64 is the sum
            rec = ops.mean(64.0 * keras.losses.binary_crossentropy(data, out))
            kl = ops.mean(ops.sum(-0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var)), axis=1))
            loss = rec + kl
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        for m, v in zip(self.metrics, (loss, rec, kl)):
            m.update_state(v)
        return {m.name: m.result() for m in self.metrics}


X, y = load_digits(return_X_y=True)
X = (X / 16.0).astype("float32")
X_tr, X_te, y_tr, y_te = X[:1400], X[1400:], y[:1400], y[1400:]
vae = VAE(encoder, decoder)
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
vae.fit(X_tr, epochs=50, batch_size=64, verbose=2)

m, _, _ = encoder.predict(X_te, verbose=0)
rec = decoder.predict(m, verbose=0)
print("test reconstruction mse %.4f (variance of the data %.4f)" % (np.mean((rec - X_te) ** 2), X_te.var(0).mean()))
mt, _, _ = encoder.predict(X_tr, verbose=0)
lr = LogisticRegression(max_iter=2000).fit(mt, y_tr)
print("linear probe on the latent code:", lr.score(m, y_te))
