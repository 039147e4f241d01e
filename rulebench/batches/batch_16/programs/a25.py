import os
os.environ["KERAS_BACKEND"] = "jax"
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_gen = keras.random.SeedGenerator(13)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_gen)
        return mean + ops.exp(0.5 * log_var) * eps


class KLLayer(layers.Layer):
    def call(self, inputs):
        mean, log_var = inputs
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var), axis=-1)
        self.add_loss(ops.mean(kl))
        return mean


def reconstruction_loss(y_true, y_pred):
    bce = -(y_true * ops.log(y_pred + 1e-7) + (1 - y_true) * ops.log(1 - y_pred + 1e-7))
    return ops.mean(bce, axis=-1)


def build_vae(dim=64, latent=4):
    inp = keras.Input((dim,))
    h = layers.Dense(128, activation="relu")(inp)
    mean = layers.Dense(latent, name="z_mean")(h)
    log_var = layers.Dense(latent, name="z_log_var")(h)
    mean = KLLayer()([mean, log_var])
    z = Sampling()([mean, log_var])
    d = layers.Dense(128, activation="relu")(z)
    out = layers.Dense(dim, activation="sigmoid")(d)
    vae = keras.Model(inp, out)
    encoder = keras.Model(inp, [mean, log_var])
    return vae, encoder


def main():
    keras.utils.set_random_seed(4)
    x = (load_digits().data / 16.0).astype("float32")
    np.random.shuffle(x)
    x_train, x_test = x[:1500], x[1500:]

    vae, encoder = build_vae()
    vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss=reconstruction_loss)
    vae.fit(x_train, x_train, epochs=25, batch_size=64, verbose=2,
            validation_data=(x_test, x_test))

    mean, log_var = encoder.predict(x_test, verbose=0)
    rec = vae.predict(x_test, verbose=0)
    print("variance of the codes per dimension", mean.var(axis=0))
    print("reconstruction mse", ((rec - x_test) ** 2).mean())
    print("mse of the mean image", ((x_train.mean(0) - x_test) ** 2).mean())


if __name__ == "__main__":
    main()
