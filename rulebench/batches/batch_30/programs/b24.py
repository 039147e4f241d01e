import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(123)
LATENT = 6

x = (load_digits().data / 16.0).astype("float32")
np.random.default_rng(0).shuffle(x)
x_train, x_test = x[:1500], x[1500:]


class Sampling(layers.Layer):
    """Draws z and adds the KL divergence to the losses of the model."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_gen = keras.random.SeedGenerator(1337)

    def call(self, inputs, training=False):
        mean, log_var = inputs
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)
        self.add_loss(ops.mean(kl))
        if not training:
            return mean
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_gen)
        return mean + ops.exp(0.5 * log_var) * eps


inp = keras.Input((64,))
h = layers.Dense(96, activation="relu")(inp)
mean = layers.Dense(LATENT, name="z_mean")(h)
log_var = layers.Dense(LATENT, name="z_log_var")(h)
z = Sampling()([mean, log_var])
h = layers.Dense(96, activation="relu")(z)
out = layers.Dense(64, activation="sigmoid")(h)
vae = keras.Model(inp, out)


def reconstruction_loss(y_true, y_pred):
    return ops.mean(keras.losses.binary_crossentropy(y_true, y_pred))


vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss=reconstruction_loss)
vae.fit(x_train, x_train, epochs=40, batch_size=50, verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(
            on_epoch_end=lambda e, logs: print(e, logs) if e % 8 == 0 else None)])

rec = vae.predict(x_test, verbose=0)
mse = float(((rec - x_test) ** 2).mean())
var = float(((x_test - x_train.mean(0)) ** 2).mean())
print("reconstruction R^2 on test digits: %.4f" % (1 - mse / var))
