"""Variational autoencoder on the 8x8 digits (torch backend, custom train step)."""
import os
os.environ["KERAS_BACKEND"] = "torch"

import numpy as np
import torch
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(8)
LATENT = 6


class VAE(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = keras.Sequential([layers.Dense(96, activation="relu"),
                                         layers.Dense(2 * LATENT)])
        self.decoder = keras.Sequential([layers.Dense(96, activation="relu"),
                                         layers.Dense(64, activation="sigmoid")])
        self.seed_gen = keras.random.SeedGenerator(8)
        self.rec_tracker = keras.metrics.Mean(name="rec")
        self.kl_tracker = keras.metrics.Mean(name="kl")
        self.loss_tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.loss_tracker, self.rec_tracker, self.kl_tracker]

    def encode(self, x):
        return ops.split(self.encoder(x), 2, axis=-1)

    def call(self, x):
        mean, log_var = self.encode(x)
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_gen)
        return self.decoder(mean + ops.exp(0.5 * log_var) * eps), mean, log_var

    def train_step(self, data):
        x = data[0] if isinstance(data, tuple) else data
        self.zero_grad()
        out, mean, log_var = self(x)
        rec = ops.mean(keras.losses.binary_crossentropy(x, out))
        kl = -0.5 * ops.mean(ops.sum(1 + log_var - mean ** 2 - ops.exp(log_var), axis=-1))
        loss = rec + kl
        loss.backward()
        weights = list(self.trainable_weights)
        grads = [w.value.grad for w in weights]
        with torch.no_grad():
            self.optimizer.apply(grads, weights)
        self.loss_tracker.update_state(loss)
        self.rec_tracker.update_state(rec)
        self.kl_tracker.update_state(kl)
        return {m.name: m.result() for m in self.metrics}


X = (load_digits().data / 16.0).astype("float32")
y = load_digits().target
perm = np.random.default_rng(8).permutation(len(X))
train, test = perm[:1400], perm[1400:]

vae = VAE()
vae(X[:2])
vae.compile(optimizer=keras.optimizers.Adam(2e-3))
vae.fit(X[train], epochs=20, batch_size=32, verbose=2)

with torch.no_grad():
    mean, _ = vae.encode(ops.convert_to_tensor(X[test]))
    rebuilt = ops.convert_to_numpy(vae.decoder(mean))
    codes = ops.convert_to_numpy(mean)
    train_codes = ops.convert_to_numpy(vae.encode(ops.convert_to_tensor(X[train]))[0])

print("spread of the latent means:", np.round(codes.std(0), 3).tolist())
print("test reconstruction MSE:", round(float(((rebuilt - X[test]) ** 2).mean()), 4))
print("MSE of the mean image:", round(float(((X[train].mean(0) - X[test]) ** 2).mean()), 4))

dist = ((codes[:, None] - train_codes[None]) ** 2).sum(-1)
nn_acc = (y[train][dist.argmin(1)] == y[test]).mean()
print("1-NN accuracy in latent space:", round(float(nn_acc), 3))
