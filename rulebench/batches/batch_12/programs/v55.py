import os
os.environ["KERAS_BACKEND"] = "jax"
import argparse
import numpy as np
import keras
from keras import layers, ops
from sklearn.datasets import load_digits


class Sampling(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        eps = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * eps


class KLLayer(layers.Layer):
    def __init__(self, weight, **kw):
        super().__init__(**kw)
        self.weight = weight

    def call(self, inputs):
        mean, log_var = inputs
        kl = -0.5 * ops.sum(1 + log_var - ops.square(mean) - ops.exp(log_var))
        self.add_loss(self.weight * kl)
        return mean


def bernoulli_nll(y, p):
    p = ops.clip(p, 1e-6, 1 - 1e-6)
    return -ops.sum(y * ops.log(p) + (1 - y) * ops.log(1 - p), axis=-1)


def build(latent, beta):
    x = layers.Input((64,))
    h = layers.Dense(64, activation="relu")(x)
    mu, lv = layers.Dense(latent, name="mu")(h), layers.Dense(latent, name="lv")(h)
    mu = KLLayer(beta)([mu, lv])
    z = Sampling()([mu, lv])
    dec_in = layers.Input((latent,))
    d = layers.Dense(64, activation="relu")(dec_in)
    decoder = keras.Model(dec_in, layers.Dense(64, activation="sigmoid")(d))
    return keras.Model(x, decoder(z)), keras.Model(x, mu), decoder


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--latent", type=int, default=6)
    ap.add_argument("--beta", type=float, default=1.0)
    ap.add_argument("--epochs", type=int, default=30)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)
    x = (load_digits().data / 16.0).astype("float32")
    rng = np.random.default_rng(0)
    x = x[rng.permutation(len(x))]
    xtr, xte = x[:1500], x[1500:]
    vae, enc, dec = build(args.latent, args.beta)
    vae.compile(optimizer=keras.optimizers.Adam(2e-3), loss=bernoulli_nll)
    vae.fit(xtr, xtr, batch_size=64, epochs=args.epochs, validation_data=(xte, xte), verbose=2)
    mu = enc.predict(xte, verbose=0)
    rec = dec.predict(mu, verbose=0)
    print("latent std", mu.std(0).round(3))
    print("reconstruction mse", ((rec - xte) ** 2).mean(), "predicting the mean", ((xte - xtr.mean(0)) ** 2).mean())


if __name__ == "__main__":
    main()
