import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

# Variational autoencoder on digits, functional API
keras.utils.set_random_seed(12)
X = (load_digits().data / 16.0).astype("float32")
np.random.shuffle(X)
x_train, x_test = X[:1400], X[1400:]
latent_dim = 8


class Sampling(layers.Layer):
    """z = mean + sigma * eps; also registers the KL term."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(12)

    def call(self, inputs, training=False):
        mean, log_var = inputs
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)
        self.add_loss(ops.mean(kl))
        if not training:
            return mean
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


def reconstruction(y_true, y_pred):
    return keras.losses.binary_crossentropy(y_true, y_pred)


enc_in = keras.Input((64,))
h = layers.Dense(128, activation="relu")(enc_in)
mean = layers.Dense(latent_dim, name="z_mean")(h)
log_var = layers.Dense(latent_dim, name="z_log_var")(h)
z = Sampling()([mean, log_var])
h = layers.Dense(128, activation="relu")(z)
out = layers.Dense(64, activation="sigmoid")(h)
vae = keras.Model(enc_in, out)
encoder = keras.Model(enc_in, [mean, log_var])
vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss=reconstruction)
hist = vae.fit(x_train, x_train, batch_size=64, epochs=40, verbose=0, validation_data=(x_test, x_test))
for e in range(0, 40, 5):
    print(f"epoch {e} loss {hist.history['loss'][e]:.4f} val_loss {hist.history['val_loss'][e]:.4f}")

rec = vae.predict(x_test, verbose=0)
m = encoder.predict(x_test, verbose=0)[0]
print("std of the latent means:", np.round(m.std(0), 3))
print("share of pixel variance explained on unseen digits: %.3f" % (1 - ((x_test - rec) ** 2).sum() / ((x_test - x_test.mean(0)) ** 2).sum()))
