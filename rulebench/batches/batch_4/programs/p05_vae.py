# Variational autoencoder on the 8x8 digits, Keras 3 with the torch backend
import os
os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

SEED = 0
keras.utils.set_random_seed(SEED)
LATENT = 4
BETA = 0.5


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(SEED)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        # KL term goes in here so that fit() only has to know about the pixels
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=1)
        self.add_loss(BETA * ops.mean(kl))
        return mean + ops.exp(0.5 * log_var) * eps


def pixel_loss(x, x_hat):
    # summed over the pixels (not averaged): numbers around 20-40 are normal
    x_hat = ops.clip(x_hat, 1e-6, 1 - 1e-6)
    ce = -(x * ops.log(x_hat) + (1 - x) * ops.log(1 - x_hat))
    return ops.sum(ce, axis=-1)


X = load_digits().data.astype("float32") / 16.0
np.random.shuffle(X)
x_train, x_test = X[:1500], X[1500:]

inp = keras.Input((64,))
h = layers.Dense(128, activation="relu")(inp)
z_mean = layers.Dense(LATENT, name="z_mean")(h)
z_log_var = layers.Dense(LATENT, name="z_log_var")(h)
z = Sampling()([z_mean, z_log_var])

dec_in = keras.Input((LATENT,))
d = layers.Dense(128, activation="relu")(dec_in)
decoder = keras.Model(dec_in, layers.Dense(64, activation="sigmoid")(d), name="decoder")
encoder = keras.Model(inp, z_mean, name="encoder")
vae = keras.Model(inp, decoder(z))

vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss=pixel_loss)
vae.fit(x_train, x_train, epochs=20, batch_size=64, validation_data=(x_test, x_test), verbose=2)

recon = decoder.predict(encoder.predict(x_test, verbose=0), verbose=0)
mse = np.mean((recon - x_test) ** 2)
base = np.mean((x_train.mean(0) - x_test) ** 2)
print("reconstruction MSE %.4f, mean image MSE %.4f" % (mse, base))
samples = decoder.predict(np.random.normal(size=(16, LATENT)), verbose=0)
print("sampled images: mean %.3f std %.3f" % (samples.mean(), samples.std()))
