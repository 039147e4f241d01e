import os
os.environ["KERAS_BACKEND"] = "torch"
import torch
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits

torch.set_num_threads(1)
keras.utils.set_random_seed(0)

# VAE on the 8x8 digits -------------------------------------------------
latent_dim = 8
x = (load_digits().data / 16.0).astype("float32")
np.random.shuffle(x)
x_train, x_test = x[:1500], x[1500:]


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        m, lv = inputs
        eps = keras.random.normal(ops.shape(m), seed=self.seed_generator)
        return m + ops.exp(0.5 * lv) * eps


class KLTerm(layers.Layer):
    def call(self, inputs):
        m, lv = inputs
        kl = -0.5 * ops.sum(1 + lv - ops.square(m) - ops.exp(lv), axis=1)
        self.add_loss(ops.mean(kl))
        return m


inp = keras.Input((64,))
h = layers.Dense(96, activation="relu")(inp)
mean = layers.Dense(latent_dim, name="mean")(h)
logvar = layers.Dense(latent_dim, name="logvar", kernel_initializer="zeros")(h)
mean_ = KLTerm()([mean, logvar])
z = Sampling()([mean_, logvar])
d = layers.Dense(96, activation="relu")(z)
out = layers.Dense(64, activation="sigmoid")(d)
vae = keras.Model(inp, out)


def reconstruction(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred) / (2 * 0.2 ** 2), axis=-1)


vae.compile(keras.optimizers.Adam(2e-3), loss=reconstruction, metrics=["mse"])
for r in range(5):
    hst = vae.fit(x_train, x_train, epochs=6, batch_size=50, verbose=0)
    print("epochs", 6 * (r + 1), {k: round(v[-1], 4) for k, v in hst.history.items()})

decoder_mse = float(np.mean((vae.predict(x_test, verbose=0) - x_test) ** 2))
base = float(np.mean((x_train.mean(0) - x_test) ** 2))
print(f"test reconstruction mse {decoder_mse:.4f}  (mean image: {base:.4f})")
