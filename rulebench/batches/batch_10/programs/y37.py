import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

keras.utils.set_random_seed(16)
x = (load_digits().data / 16.0).astype("float32")
np.random.shuffle(x)
x_train, x_test = x[:1500], x[1500:]


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(16)

    def call(self, z_mean, z_log_var):
        kl = -0.5 * ops.sum(1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var), axis=-1)
        self.add_loss(ops.mean(kl))
        eps = keras.random.normal(ops.shape(z_mean), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * eps


def reconstruction_loss(y_true, y_pred):
    return keras.losses.binary_crossentropy(y_true, y_pred)


inp = keras.Input((64,))
h = layers.Dense(64, activation="relu")(inp)
z_mean = layers.Dense(4)(h)
z_log_var = layers.Dense(4)(h)
z = Sampling()(z_mean, z_log_var)
d = layers.Dense(64, activation="relu")(z)
out = layers.Dense(64, activation="sigmoid")(d)
vae = keras.Model(inp, out)
vae.compile(keras.optimizers.Adam(2e-3), loss=reconstruction_loss)
vae.fit(x_train, x_train, epochs=30, batch_size=50, validation_data=(x_test, x_test), verbose=2)

rec = vae.predict(x_test, verbose=0)
print("mse of reconstruction", ((rec - x_test) ** 2).mean())
print("mse of mean image   ", ((x_train.mean(0) - x_test) ** 2).mean())
print("variance across reconstructions", rec.var(0).mean())
