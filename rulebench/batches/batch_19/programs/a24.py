import os
os.environ["KERAS_BACKEND"] = "jax"

import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(53)

X = (load_digits().data / 16.0).astype("float32")
x_train, x_test = X[:1500], X[1500:]
LATENT = 4


class Sampling(layers.Layer):
    """z = mu + sigma * eps; adds the KL term with a weight the callback sets."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_gen = keras.random.SeedGenerator(0)

    def build(self, shape):
        self.beta = self.add_weight(shape=(), initializer="zeros", trainable=False, name="beta")

    def call(self, inputs, training=False):
        mu, logvar = inputs
        kl = -0.5 * ops.sum(1 + logvar - ops.square(mu) - ops.exp(logvar), axis=-1)
        self.add_loss(self.beta * ops.mean(kl))
        if not training:
            return mu
        eps = keras.random.normal(ops.shape(mu), seed=self.seed_gen)
        return mu + ops.exp(0.5 * logvar) * eps


class KLWarmup(keras.callbacks.Callback):
    def __init__(self, layer, epochs):
        super().__init__()
        self.layer, self.epochs = layer, epochs

    def on_epoch_begin(self, epoch, logs=None):
        self.layer.beta.assign(min(1.0, epoch / self.epochs))


def recon_loss(y_true, y_pred):
    return ops.sum(keras.ops.binary_crossentropy(y_true, y_pred), axis=-1)


inp = keras.Input((64,))
h = layers.Dense(96, activation="relu")(inp)
mu = layers.Dense(LATENT, name="mu")(h)
logvar = layers.Dense(LATENT, name="logvar", kernel_initializer="zeros")(h)
sampling = Sampling(name="z")
z = sampling([mu, logvar])
decoder = keras.Sequential(
    [keras.Input((LATENT,)), layers.Dense(96, activation="relu"), layers.Dense(64, activation="sigmoid")]
)
vae = keras.Model(inp, decoder(z))
vae.compile(optimizer=keras.optimizers.Adam(3e-3), loss=recon_loss)
hist = vae.fit(
    x_train, x_train, validation_data=(x_test, x_test), epochs=24, batch_size=50,
    callbacks=[KLWarmup(sampling, 12)], verbose=2,
)

rec = vae.predict(x_test, verbose=0)
print(f"reconstruction rmse {np.sqrt(np.mean((rec - x_test) ** 2)):.4f}")
print(f"rmse of the mean image {np.sqrt(np.mean((x_train.mean(0) - x_test) ** 2)):.4f}")
codes = keras.Model(inp, mu).predict(x_test, verbose=0)
print("std of the codes", codes.std(0).round(2))
draws = decoder.predict(np.random.default_rng(0).normal(size=(300, LATENT)), verbose=0)
nearest = ((draws[:, None] - x_train[None, :400]) ** 2).mean(-1).min(1) ** 0.5
print(f"distance of prior samples to the nearest image {nearest.mean():.4f}")
