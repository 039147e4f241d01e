import os
os.environ["KERAS_BACKEND"] = "jax"
import keras
from keras import layers, ops
import numpy as np
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)

x = (load_digits().data / 16.0).astype("float32")
perm = np.random.permutation(len(x))
x_train, x_test = x[perm[:1500]], x[perm[1500:]]
latent_dim = 8


class Sampling(layers.Layer):
    """Reparameterisation trick; also adds the KL term to the model losses."""

    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        z_mean, z_log_var = inputs
        kl = -0.5 * ops.sum(1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var), axis=1)
        self.add_loss(ops.mean(kl))
        eps = keras.random.normal(ops.shape(z_mean), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * eps


inp = keras.Input((64,))
h = layers.Dense(128, activation="relu")(inp)
h = layers.Dense(64, activation="relu")(h)
z_mean = layers.Dense(latent_dim, name="z_mean")(h)
z_log_var = layers.Dense(latent_dim, name="z_log_var")(h)
z = Sampling()([z_mean, z_log_var])
d = layers.Dense(64, activation="relu")(z)
d = layers.Dense(128, activation="relu")(d)
out = layers.Dense(64, activation="sigmoid")(d)

vae = keras.Model(inp, out)


def reconstruction(y_true, y_pred):
    # pixel-wise negative log likelihood
    return keras.losses.binary_crossentropy(y_true, y_pred)


vae.compile(optimizer=keras.optimizers.Adam(1e-3), loss=reconstruction)
for block in range(5):
    hist = vae.fit(x_train, x_train, epochs=20, batch_size=64, verbose=0)
    print(f"epochs {20 * (block + 1)}: total loss {hist.history['loss'][-1]:.4f}")

recon = vae.predict(x_test, verbose=0)
err = np.mean((recon - x_test) ** 2)
base = np.mean((x_test - x_train.mean(0)) ** 2)
print(f"held-out reconstruction MSE {err:.4f} (mean image: {base:.4f})")
